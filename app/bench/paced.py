"""A source with known frame times, and a sink that notes when pictures arrive."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

from engine.sinks.base import StreamInfo
from engine.sources.base import SourceInfo
from engine.types import Frame, Image, Output, Shown


class PacedSource:
    """A camera that never errs: frame n is captured at start + n / fps, exactly.

    `captured_ns` is the time at which the frame *should* be there, not the one at which a thread
    woke up, so that a late wake-up counts as delay.

    Args:
        images: gives the pictures, again and again; called at each start and at each end.
        fps: frames per second.
    """

    def __init__(self, images: Callable[[], Iterator[Image]], fps: float) -> None:
        self._images, self._fps = images, fps
        self._closed = threading.Event()
        self.delivered = 0

    def open(self) -> SourceInfo:
        """See `engine.sources.base.Source`."""
        self._pictures = self._endless()
        first = next(self._pictures)
        self._next = first
        self._start = time.monotonic_ns()
        height, width = first.shape[:2]
        return SourceInfo("paced", width, height, self._fps, live=True)

    def read(self) -> Frame | None:
        """The next frame, when its time has come."""
        if self.delivered == 0:
            self._start = time.monotonic_ns()
        due = self._start + round(self.delivered * 1e9 / self._fps)
        while (wait := due - time.monotonic_ns()) > 0:
            if self._closed.wait(wait / 1e9):
                return None
        if self._closed.is_set():
            return None
        frame = Frame(self.delivered, due, self._next)
        self.delivered += 1
        self._next = next(self._pictures)
        return frame

    def close(self) -> None:
        """End it."""
        self._closed.set()

    def _endless(self) -> Iterator[Image]:
        while True:
            yield from self._images()


class NotingSink:
    """Notes every picture's arrival and keeps nothing else; its memory is taken at the start.

    Args:
        capacity: pictures it can note; later ones are only counted.

    Attributes:
        ids: number of the frame that each picture was made from.
        captured_ns, arrived_ns: monotonic clock.
        swapped: whether it shows a swapped face.
        count: pictures that arrived.
    """

    name = "bench"

    def __init__(self, capacity: int) -> None:
        # Filled, not empty: untouched pages would count as memory growth when they are first used.
        self.ids, self.captured_ns, self.arrived_ns = np.full((3, capacity), -1, np.int64)
        self.swapped = np.full(capacity, False)
        self.count = 0

    def open(self, stream: StreamInfo) -> None:
        """See `engine.sinks.base.Sink`."""

    def write(self, output: Output) -> None:
        """See `engine.sinks.base.Sink`."""
        now, place = time.monotonic_ns(), self.count
        self.count += 1
        if place < len(self.ids):
            self.ids[place], self.captured_ns[place] = output.frame.id, output.frame.captured_ns
            self.arrived_ns[place], self.swapped[place] = now, output.shown is Shown.SWAPPED

    def close(self) -> None:
        """See `engine.sinks.base.Sink`."""
