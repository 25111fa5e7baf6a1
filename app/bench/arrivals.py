"""A sink that notes when pictures arrive: what a session delivers, judged from outside."""

from __future__ import annotations

import time

import numpy as np

from engine.sinks.base import StreamInfo
from engine.types import Output, Shown


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
