"""A device on paper: copies and work take the time they are given, on streams that run side by side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engine.runtime.device import STREAMS, HostDevice


class SimulatedDevice(HostDevice):
    """Computes like the host, but keeps each stream's clock.

    Args:
        upload, compute, download: time of each, per call.
    """

    name = "simulated"

    def __init__(self, upload: float, compute: float, download: float) -> None:
        super().__init__()
        self.cost = dict(zip(STREAMS, (upload, compute, download), strict=True))
        self.clock = dict.fromkeys(STREAMS, 0.0)
        self.host = 0.0

    @contextmanager
    def _spent(self, stream: str) -> Iterator[None]:
        yield
        begin = max(self.clock[stream], self.host)  # nothing runs before it was queued
        self.clock[stream] = begin + self.cost[stream]

    def on(self, stream: str) -> Any:
        return self._spent(stream)

    def record(self, stream: str) -> float:
        return self.clock[stream]

    def wait(self, stream: str, event: float) -> None:
        self.clock[stream] = max(self.clock[stream], event)

    def synchronise(self, event: float) -> None:
        self.host = max(self.host, event)
