"""What is known of a camera, and of a virtual camera, before it is opened."""

from __future__ import annotations

import enum
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CameraFormat:
    """One picture size that a camera offers in one pixel format.

    Attributes:
        fourcc: V4L2's four characters, such as "MJPG" or "YUYV"; blanks at the end removed.
        width, height: pixels.
        fps: frame rates offered at this size, highest first; empty if the camera does not say.
    """

    fourcc: str
    width: int
    height: int
    fps: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Camera:
    """A device that delivers pictures.

    Attributes:
        index: what `cv2.VideoCapture(index, backend)` takes.
        name: for people; two cameras of one model share it.
        path: device file or system identifier, unique; empty where the system has none.
        backend: OpenCV's `cv2.CAP_…` number that the index belongs to.
        formats: sizes and rates; empty where the system does not say (Windows and macOS).
        is_virtual: made by software (v4l2loopback, OBS, …), our own output possibly.
    """

    index: int
    name: str
    path: str = ""
    backend: int = 0
    formats: tuple[CameraFormat, ...] = ()
    is_virtual: bool = False

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """Width and height of each size offered, smallest first."""
        return tuple(sorted({(f.width, f.height) for f in self.formats}))

    def rates(self, width: int, height: int, fourcc: str | None = None) -> tuple[float, ...]:
        """Frame rates offered at this size (in this pixel format), highest first."""
        return tuple(
            sorted(
                {
                    rate
                    for f in self.formats
                    if (f.width, f.height) == (width, height) and fourcc in (None, f.fourcc)
                    for rate in f.fps
                },
                reverse=True,
            )
        )


class VirtualCameraState(enum.Enum):
    """Whether Kawari can send pictures to a virtual camera now."""

    READY = "ready"
    """It can be opened."""
    STALE = "stale"
    """A writer left v4l2loopback in a state that hides its output side; Kawari cures it on opening."""
    BUSY = "busy"
    """Another program sends pictures to it."""
    NO_ACCESS = "no-access"
    """The user may not open it."""


@dataclass(frozen=True, slots=True)
class VirtualCameraDevice:
    """A device that other programs see as a camera and that Kawari can feed.

    Attributes:
        name: as other programs show it.
        backend: pyvirtualcam's name: "v4l2loopback", "obs" or "unitycapture".
        path: device file on Linux, otherwise the name.
        state: see `VirtualCameraState`.
        detail: why it can't be used, or what to know; may be empty.
    """

    name: str
    backend: str
    path: str
    state: VirtualCameraState = VirtualCameraState.READY
    detail: str = ""

    @property
    def usable(self) -> bool:
        """Whether opening it is expected to succeed."""
        return self.state in (VirtualCameraState.READY, VirtualCameraState.STALE)
