"""What every sink of finished pictures promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.types import Output


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """The stream a sink will get.

    Attributes:
        width, height: pixels of the first pictures; later ones may differ, a sink fits them.
        fps: nominal frames per second.
        live: see `engine.sources.base.SourceInfo`.
    """

    width: int
    height: int
    fps: float
    live: bool


class Sink(Protocol):
    """Preview, recorder, virtual camera, browser page, statistics.

    All methods are called by one thread, the sink's own.
    """

    name: str

    def open(self, stream: StreamInfo) -> None:
        """Get ready. Raises `DeviceError` or `InputError` that says what is wrong."""
        ...

    def write(self, output: Output) -> None:
        """Deliver one picture. Raises `DeviceError` if the device is gone or full."""
        ...

    def close(self) -> None:
        """Finish and release everything; what was delivered so far stays usable."""
        ...
