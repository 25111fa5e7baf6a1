"""What every source of frames promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.types import Frame


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """What a source delivers once it is open.

    Attributes:
        name: for people.
        width, height: pixels, upright (rotation already applied).
        fps: nominal frames per second.
        live: True if frames come at their own pace and may be dropped; False for files, where
            none may be.
        frames: number of frames if known.
    """

    name: str
    width: int
    height: int
    fps: float
    live: bool
    frames: int | None = None


class Source(Protocol):
    """A camera, a clip, a picture, the demo.

    `open` and `read` are called by one thread; `close` may be called by any thread at any time,
    twice too, and makes a blocked `read` return within half a second.
    """

    def open(self) -> SourceInfo:
        """Open it. Raises `DeviceError` or `InputError` that says what is wrong."""
        ...

    def read(self) -> Frame | None:
        """The next frame; None when the source has ended or was closed.

        Raises:
            DeviceError: the device is gone, or delivered nothing for two seconds; the source may
                be closed and opened again.
            InputError: the clip can't be decoded further.
        """
        ...

    def close(self) -> None:
        """Release everything."""
        ...
