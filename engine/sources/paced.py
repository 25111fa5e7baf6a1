"""Given pictures at a fixed rate with known times: for measuring delay, and for tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from engine.sources.base import SourceInfo
from engine.types import Frame, Image


class PacedSource:
    """Plays pictures in a loop as a camera would: each at its due time, missed ones skipped.

    Frame `n` is due at `start_ns + n / fps`, and `captured_ns` is that due time, so that lateness of
    the reading thread counts as delay, as it would with a real camera's own time stamps.

    Args:
        images: uint8, H×W×3, BGR, all of one size.
        fps: frames per second.
        frames: end after so many; None for never.
        name: for people.

    Attributes:
        start_ns: due time of frame 0, `time.monotonic_ns()`; 0 before `open`.
    """

    def __init__(
        self, images: Sequence[Image], fps: float, *, frames: int | None = None, name: str = "paced"
    ) -> None:
        self._images = images
        self._fps = fps
        self._frames = frames
        self._name = name
        self._closed = threading.Event()
        self._next = 0
        self.start_ns = 0

    def open(self) -> SourceInfo:
        """Start the clock."""
        self._closed.clear()
        self._next = 0
        self.start_ns = time.monotonic_ns()
        height, width = self._images[0].shape[:2]
        return SourceInfo(self._name, width, height, self._fps, live=True, frames=self._frames)

    def due_ns(self, number: int) -> int:
        """When a frame is due."""
        return self.start_ns + round(number * 1e9 / self._fps)

    def read(self) -> Frame | None:
        """Wait for the next frame that is not over yet."""
        elapsed = (time.monotonic_ns() - self.start_ns) * self._fps / 1e9
        number = max(self._next, int(elapsed))
        if self._frames is not None and number >= self._frames:
            return None
        self._next = number + 1
        due = self.due_ns(number)
        if self._closed.wait(max(due - time.monotonic_ns(), 0) / 1e9):
            return None
        return Frame(number, due, self._images[number % len(self._images)])

    def close(self) -> None:
        """End a waiting `read`."""
        self._closed.set()
