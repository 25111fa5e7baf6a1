"""A source that tells how far it was read, and can be stopped from another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.errors import CancelledError
from engine.sources.base import Source, SourceInfo
from engine.types import Frame

_TELL_EVERY = 10
"""Frames between two reports of progress."""


class Watched:
    """See `engine.sources.base.Source`; raises `CancelledError` once it was stopped.

    Args:
        source: the real one.
        stopped: set to stop it; `close` interrupts a read that blocks.
        told: called now and then, on the reading thread, with the number of frames read.
    """

    def __init__(self, source: Source, stopped: threading.Event, told: Callable[[int], None]) -> None:
        self._source, self._stopped, self._told, self._read = source, stopped, told, 0

    def open(self) -> SourceInfo:
        """See `Source`."""
        self._check()
        return self._source.open()

    def read(self) -> Frame | None:
        """See `Source`."""
        self._check()
        frame = self._source.read()
        self._check()
        self._read += frame is not None
        if self._read % _TELL_EVERY == 1:
            self._told(self._read)
        return frame

    def close(self) -> None:
        """See `Source`."""
        self._source.close()

    def _check(self) -> None:
        if self._stopped.is_set():
            raise CancelledError("The examination was stopped")
