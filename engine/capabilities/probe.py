"""One finding about the machine."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class State(enum.Enum):
    """How a finding is."""

    OK = "ok"
    WARNING = "warning"
    """It works, but less well than it could, or something may surprise."""
    MISSING = "missing"
    """It can't be used."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One finding.

    Attributes:
        name: what was looked at; stable, for programs too.
        state: see `State`.
        detail: what was found, one line.
        remedy: what to do about it; empty if nothing needs to be done.
        optional: Kawari does its main job without it.
    """

    name: str
    state: State
    detail: str
    remedy: str = ""
    optional: bool = False

    def as_json(self) -> dict[str, str | bool]:
        """For `json.dumps`."""
        return {
            "name": self.name,
            "state": self.state.value,
            "detail": self.detail,
            "remedy": self.remedy,
            "optional": self.optional,
        }
