"""Looks for Kawari's marks in a file or a camera; runs on the bridge's thread and can be stopped."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from app.gui.watched import Watched
from engine.errors import DeviceError, InputError
from engine.sources.base import Source

if TYPE_CHECKING:
    from app.options import CameraConfig
    from engine.mark.verify import Report


class Verification:
    """One examination. `run` is called by one thread, `cancel` by any.

    Args:
        subject: a file, or the camera to look through.
        told: called now and then, on the examining thread, with the number of frames read.
    """

    def __init__(self, subject: Path | CameraConfig, told: Callable[[int], None]) -> None:
        self._subject, self._told = subject, told
        self._stopped = threading.Event()
        self._source: Watched | None = None

    def run(self) -> Report:
        """Examine.

        Raises:
            CancelledError: it was stopped.
            InputError, DeviceError: the file or the camera can't be read.
        """
        from engine.mark.verify import verify_camera, verify_file

        key = _own_key()
        if not isinstance(self._subject, Path):
            from app.build import source_giver

            return verify_camera(self._watched(source_giver(self._subject)()), key=key)
        from engine.folders import home
        from engine.mark.signer import local_signing_key
        from engine.sources.file import FileSource
        from engine.sources.still import StillSource, is_still

        if not self._subject.is_file():
            raise InputError(f"There is no file {self._subject.name}", "Check the path")
        kind = StillSource if is_still(self._subject) else FileSource
        root = local_signing_key(home()).root
        return verify_file(self._subject, self._watched(kind(self._subject)), root, key)

    def cancel(self) -> None:
        """Stop soon; a read that blocks is interrupted."""
        self._stopped.set()
        if self._source is not None:
            self._source.close()

    def _watched(self, source: Source) -> Watched:
        self._source = Watched(source, self._stopped, self._told)
        return self._source


def _own_key() -> bytes | None:
    """The user's private watermark key; None if there is none, or it can't be read."""
    from engine.folders import home
    from engine.mark.private_key import private_key

    with contextlib.suppress(DeviceError):
        return private_key(home())
    return None
