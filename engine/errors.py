"""Errors that a user can understand and act on.

Every foreseeable failure is a `KawariError`: `str(error)` is one sentence that says what is wrong,
`remedy` is one that says what to do. The command line prints both on one line and exits with the
class's `exit_code`; the window shows them in a message; neither ever shows a traceback for one.
"""

from __future__ import annotations

from typing import ClassVar


class KawariError(Exception):
    """Base of all foreseeable errors.

    Args:
        message: what is wrong, one sentence without a final period.
        remedy: what would help, one sentence without a final period; may be empty.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}. {self.remedy}." if self.remedy else f"{self.message}."


class UsageError(KawariError):
    """The command or the configuration contradicts itself."""

    exit_code = 2


class InputError(KawariError):
    """A photo, clip or other input can't be used (missing, broken, no face, too small …)."""

    exit_code = 3


class DeviceError(KawariError):
    """A camera, virtual camera, disk or other device is missing, busy or gone."""

    exit_code = 4


class ModelError(KawariError):
    """A model file is missing, wrong or can't be run."""

    exit_code = 5


class RefusedError(KawariError):
    """Kawari refuses: no consent on record, or content it does not make."""

    exit_code = 6


class CancelledError(KawariError):
    """The user stopped it; 130 is what shells give for an interrupted command."""

    exit_code = 130
