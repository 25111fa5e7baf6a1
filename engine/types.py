"""The few values that every stage speaks: frames, faces, patches, outputs.

Coordinate frame everywhere: pixels, x to the right, y down, **pixel centres at integers** (OpenCV's
convention, so that points go into `cv2.warpAffine` and `cv2.remap` unchanged). z has the unit of x,
smaller is nearer to the camera. Pictures are `uint8`, H×W×3, **BGR**, C-contiguous unless said
otherwise. "left" and "right" of a face are the person's own.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
"""uint8, H×W×3, BGR."""
Mask = NDArray[np.uint8]
"""uint8, H×W, 0 = the frame shows, 255 = the patch shows."""
Points = NDArray[np.float32]
"""float32, N×2 or N×3."""
Matrix = NDArray[np.float64]
"""float64, 2×3 affine matrix."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture from a source. The image is never written to by anyone.

    Attributes:
        id: counts from 0 for each opened source; gaps are frames dropped before the engine.
        captured_ns: `time.monotonic_ns()` at which the source handed the picture over.
        image: uint8, H×W×3, BGR.
        pts: presentation time in seconds from the start of the clip; None for live sources.
    """

    id: int
    captured_ns: int
    image: Image
    pts: float | None = None

    @property
    def seconds(self) -> float:
        """The frame's own time: in its clip if it comes from one, else when it was captured."""
        return self.captured_ns / 1e9 if self.pts is None else self.pts


@dataclass(frozen=True, slots=True)
class Detection:
    """A face as the detector saw it, in frame pixels.

    Attributes:
        box: float32 (4,): x0, y0, x1, y1.
        keypoints: float32 (6, 2): right eye, left eye, nose tip, mouth centre, right ear, left ear.
        score: 0..1.
    """

    box: NDArray[np.float32]
    keypoints: Points
    score: float


@dataclass(frozen=True)
class Face:
    """A tracked face in one frame.

    Attributes:
        id: stable over the frames in which this face is followed.
        landmarks: float32 (478, 3), frame pixels (MediaPipe FaceMesh order; 468..477 are the irises).
        score: the landmark network's own confidence, 0..1.
        carried: frames since the landmarks were last measured; 0 = measured on this frame,
            more = carried here by optical flow.
    """

    id: int
    landmarks: Points
    score: float
    carried: int = 0

    @cached_property
    def box(self) -> tuple[float, float, float, float]:
        """x0, y0, x1, y1 of the 468 surface landmarks, frame pixels."""
        lo, hi = self.landmarks[:468, :2].min(0), self.landmarks[:468, :2].max(0)
        return float(lo[0]), float(lo[1]), float(hi[0]), float(hi[1])

    @property
    def width(self) -> float:
        """Width of `box`, pixels."""
        x0, _, x1, _ = self.box
        return x1 - x0


@dataclass(frozen=True, slots=True)
class Patch:
    """What a swapper made for one face, ready for `engine.blend.paste`.

    Attributes:
        image: uint8, h×w×3, BGR.
        mask: uint8, h×w; 0 keeps the frame's pixel bit for bit.
        matrix: float64, 2×3, from patch pixels to frame pixels. A pure integer translation
            (`origin` set) is pasted without resampling.
        origin: (x, y) of the patch's first pixel in the frame when `matrix` is that translation.
    """

    image: Image
    mask: Mask
    matrix: Matrix
    origin: tuple[int, int] | None = None

    @classmethod
    def at(cls, image: Image, mask: Mask, x: int, y: int) -> Patch:
        """A patch that already lies in frame pixels with its first pixel at (x, y)."""
        return cls(image, mask, np.array([[1, 0, x], [0, 1, y]], np.float64), (x, y))


class Shown(enum.Enum):
    """What an output shows where a face that should be swapped is."""

    SWAPPED = "swapped"
    """Every face that should be swapped was swapped."""
    NOTHING_TO_SWAP = "nothing-to-swap"
    """No face that should be swapped is known to be in the frame."""
    HELD = "held"
    """The leak guard repeated the last safe picture."""
    COVERED = "covered"
    """The leak guard covered the region or the whole picture."""
    PASSED = "passed"
    """The input's face may be visible: the user chose pass-through."""


@dataclass(frozen=True, slots=True)
class Output:
    """A finished picture on its way to the sinks.

    Attributes:
        frame: the frame it was made from (its image is the untouched input: never show it).
        image: uint8, H×W×3, BGR, marked; the only picture that may leave.
        faces: the faces found in the frame.
        swapped: ids of those that were swapped.
        shown: see `Shown`.
        reason: why the guard acted, one of a few fixed words; empty if it did not.
        stage_ms: wall time of each stage, milliseconds.
    """

    frame: Frame
    image: Image
    faces: tuple[Face, ...] = ()
    swapped: tuple[int, ...] = ()
    shown: Shown = Shown.SWAPPED
    reason: str = ""
    stage_ms: Mapping[str, float] = field(default_factory=dict)
