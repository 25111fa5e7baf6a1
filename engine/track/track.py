"""One followed face."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.track.acquire import MIN_SCORE, movement, shape_error, size
from engine.track.flow import carry
from engine.track.landmarks import Landmarker, Region, region_from_landmarks
from engine.track.smoothing import OneEuro, SmoothingOptions
from engine.track.topology import LEFT_EYE, LIPS_INNER, RIGHT_EYE, SURFACE
from engine.types import Face, Frame, Image, Points

_MAX_SHAPE_ERROR = 0.10
"""Looser than on acquisition: a followed face may turn to the side."""
_MAX_GROWTH = 1.35
_MAX_JUMP = 0.5
"""Face sizes between two frames against the prediction; more is another thing."""
_MAX_DISAGREEMENT = 0.25
"""Between landmarks and flow, face sizes, when the landmarks look doubtful."""
_DOUBTFUL_SCORE = 0.9
_DOUBTFUL_JUMP = 0.12
_STILL = (0.02, 0.04, 0.04)
"""Change of the region's place and size (of its side) and angle (rad) below which it is held:
a still head keeps its crop, so that jitter is not fed back through the region."""
_OFF_CENTRE = (0.02, 0.04, 0.06)
"""Beyond, the network was not looking straight at the face, and above all the lips are less exact: a
second look takes their opening's correlation with that of a centred crop from .954 to .980 on a singing
face, for one more look in twenty frames."""

_SPEAKING = 0.01
"""Change of the mouth's opening between two frames, in distances of the outer eye corners, from which
the second look is taken, too: the crop was laid for the mouth as it was (correlation with a centred
crop's opening .983 before, .993 now, on a talking face)."""


class Track:
    """Follows one face; made by the tracker when a face was found.

    Attributes:
        id: given by the tracker.
        carried: frames since the landmarks were measured.
        lost: no longer to be found.
        age: frames since it was found.
    """

    def __init__(
        self,
        id: int,  # noqa: A002 (the name in `Face`)
        landmarker: Landmarker,
        smoothing: SmoothingOptions | None,
        measured: tuple[Points, float],
        time: float,
    ) -> None:
        self._landmarker = landmarker
        self._filter = OneEuro(smoothing) if smoothing else None
        self.id = id
        self.carried = 0
        self.lost = False
        self.age = 0
        self._velocity = np.zeros(2, np.float32)
        self._time = time
        self._place(measured[0])
        self.measured(*measured, time)

    @property
    def landmarks(self) -> Points:
        """float32 (478, 3), frame pixels, unsmoothed."""
        return self._raw

    @property
    def box(self) -> NDArray[np.float32]:
        """float32 (4,): x0, y0, x1, y1 of the landmarks."""
        points = self._raw[:SURFACE, :2]
        return np.concatenate([points.min(0), points.max(0)])

    @property
    def width(self) -> float:
        """Of the face, pixels."""
        return self._width

    @property
    def eyes(self) -> Points:
        """(2,): the point between the eyes."""
        return (self._raw[RIGHT_EYE[0], :2] + self._raw[LEFT_EYE[0], :2]) * np.float32(0.5)

    def face(self) -> Face:
        """What leaves the tracker."""
        return Face(self.id, self._smooth, self._score, self.carried)

    def measured(self, landmarks: Points, score: float, time: float) -> None:
        """Take landmarks that were measured outside of `follow`."""
        self._region = region_from_landmarks(landmarks)
        self._accept(landmarks, score, time)
        self._velocity = np.zeros(2, np.float32)

    def follow(self, image: Image, before: Frame | None, time: float, carry_seconds: float) -> None:
        """Find the face in the next frame: measure it, else carry it, else it is lost."""
        self.age += 1
        old = self._raw
        step = self._velocity * np.float32(time - self._time)
        landmarks, score = self._look(image, self._next_region(step))
        flow: Points | None = None
        fine = self._plausible(landmarks, score, step)
        if (not fine or self._doubtful(landmarks, score, step)) and before is not None:
            carried = carry(before.image, image, old, step)
            flow = None if carried is None else carried.landmarks
            if flow is not None and (not fine or movement(flow, landmarks) > _MAX_DISAGREEMENT):
                landmarks, score = self._look(image, region_from_landmarks(flow))
                fine = self._plausible(landmarks, score, flow[:, :2].mean(0) - old[:, :2].mean(0))
                fine = fine and movement(flow, landmarks) <= _MAX_DISAGREEMENT
        if fine:
            self._accept(landmarks, score, time)
            return
        self.carried += 1
        if time - self._measured_at > carry_seconds:
            self.lost = True
            return
        if flow is None:  # nothing to see: it goes on as it moved, slower and slower
            self._velocity = self._velocity * np.float32(0.8)
            flow = old.copy()
            flow[:, :2] += step
        self._move(flow, time)

    def _look(self, image: Image, region: Region) -> tuple[Points, float]:
        """Measure; a face off the region's middle, or with a moving mouth, is looked at once more."""
        landmarks, score = self._landmarker.locate(image, region)
        centred = region_from_landmarks(landmarks)
        speaking = abs(_mouth(landmarks) - _mouth(self._raw)) > _SPEAKING
        if score < MIN_SCORE or not (speaking or _differ(centred, region, _OFF_CENTRE)):
            return landmarks, score
        return self._landmarker.locate(image, centred)

    def _accept(self, landmarks: Points, score: float, time: float) -> None:
        self.carried = 0
        self._score = score
        self._measured_at = time
        self._move(landmarks, time)

    def _move(self, landmarks: Points, time: float) -> None:
        step, before = time - self._time, self._middle
        self._time = time
        self._place(landmarks)
        if step > 0:
            self._velocity = (self._middle - before) / np.float32(step)
        self._smooth = self._filter(landmarks, self.width, time) if self._filter else landmarks

    def _place(self, landmarks: Points) -> None:
        """Keep landmarks, and what is often asked of them."""
        surface = landmarks[:SURFACE, :2]
        self._raw, self._middle = landmarks, surface.mean(0)
        self._width, height = (float(side) for side in np.ptp(surface, axis=0))
        self._size = max(self._width, height)

    def _next_region(self, step: Points) -> Region:
        """Where to look: the face's constant velocity, or the last region if hardly anything changed."""
        new, old = region_from_landmarks(self._raw), self._region
        new = Region(new.cx + float(step[0]), new.cy + float(step[1]), new.size, new.angle)
        if _differ(new, old, _STILL):
            self._region = new
        return self._region

    def _plausible(self, landmarks: Points, score: float, step: Points) -> bool:
        """Whether these may be the landmarks of the same face one frame later."""
        growth = size(landmarks) / self._size
        return (
            score >= MIN_SCORE
            and 1 / _MAX_GROWTH < growth < _MAX_GROWTH
            and self._jump(landmarks, step) < _MAX_JUMP
            and shape_error(landmarks) < _MAX_SHAPE_ERROR
        )

    def _doubtful(self, landmarks: Points, score: float, step: Points) -> bool:
        return score < _DOUBTFUL_SCORE or self._jump(landmarks, step) > _DOUBTFUL_JUMP

    def _jump(self, landmarks: Points, step: Points) -> float:
        gap = landmarks[:SURFACE, :2].mean(0) - self._middle - step
        return float(np.hypot(*gap)) / self._size


def _mouth(landmarks: Points) -> float:
    """Opening of the mouth over the distance of the outer eye corners."""
    gap = landmarks[LIPS_INNER[15], :2] - landmarks[LIPS_INNER[5], :2]
    eyes = landmarks[LEFT_EYE[0], :2] - landmarks[RIGHT_EYE[0], :2]
    return float(np.hypot(*gap) / max(np.hypot(*eyes), 1e-3))


def _differ(a: Region, b: Region, limits: tuple[float, float, float]) -> bool:
    """Whether place or size (over b's side) or angle (rad) differ by more than the limits."""
    turned = (a.angle - b.angle + math.pi) % (2 * math.pi) - math.pi
    return (
        math.hypot(a.cx - b.cx, a.cy - b.cy) > limits[0] * b.size
        or abs(a.size - b.size) > limits[1] * b.size
        or abs(turned) > limits[2]
    )
