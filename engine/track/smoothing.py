"""Takes the jitter out of landmarks without making them late.

One-Euro filter: G. Casiez, N. Roussel, D. Vogel, "1€ Filter: A Simple Speed-based Low-pass Filter
for Noisy Input in Interactive Systems", CHI 2012. A low-pass filter whose cutoff rises with the
speed: still points are smoothed strongly, moving ones hardly. Beyond the paper: the motion that the
whole face shares moves the filter's state along before it is blended, so that a head in steady
motion is not late, and the error is bounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.track.topology import LEFT_EYE, LIPS_INNER, LIPS_OUTER, RIGHT_EYE
from engine.types import Points

LIVELY = np.concatenate([LIPS_INNER, LIPS_OUTER, LEFT_EYE, RIGHT_EYE])


@dataclass(frozen=True, slots=True)
class SmoothingOptions:
    """How strongly to smooth; lengths are in face widths.

    The defaults come from a still face under camera noise and from talking and turning heads
    (`tests/unit/track/test_smoothing.py`).

    Attributes:
        cutoff: Hz, of a point at rest.
        speed_gain: Hz per (face width / s), how fast the cutoff rises.
        speed_cutoff: Hz, of the low-pass filter on the speed itself.
        dead_speed: per second, what noise alone reaches: only what exceeds it raises the cutoff.
        dead_drift: the same for the motion that the whole face shares, which is less noisy.
        max_error: no point is ever farther from where it was measured.
        lively_gain: factor on `speed_gain` for lips and lids, whose motion is short and fast: a syllable
            or a blink lasts a few frames.
    """

    cutoff: float = 0.8
    speed_gain: float = 40.0
    speed_cutoff: float = 5.0
    dead_speed: float = 0.04
    dead_drift: float = 0.012
    max_error: float = 0.006
    lively_gain: float = 4.0


class OneEuro:
    """Smooths one face's landmarks; every point has a filter of its own.

    Args:
        options: see `SmoothingOptions`.
    """

    def __init__(self, options: SmoothingOptions | None = None) -> None:
        self._options = options or SmoothingOptions()
        self._value: Points | None = None
        self._raw: Points | None = None
        self._speed: Points | None = None
        self._time = 0.0

    def reset(self) -> None:
        """Forget everything: the next points are taken as they are."""
        self._value = self._raw = self._speed = None

    def __call__(self, points: Points, width: float, time: float) -> Points:
        """The smoothed points.

        Args:
            points: float32 (n, 3), measured, n ≥ 468 in FaceMesh order and the same from call to call.
            width: of the face, the unit of speed, in the points' own unit.
            time: seconds, rising; equal or falling times restart the filter.

        Returns:
            float32 (n, 3), a new array.
        """
        step = time - self._time
        self._time = time
        if self._value is None or self._raw is None or self._speed is None or step <= 0 or step > 0.5:
            self._value, self._raw, self._speed = points, points, np.zeros_like(points)
            return points
        o = self._options
        measured = (points - self._raw) / np.float32(step * width)
        self._speed = self._speed + np.float32(_alpha(o.speed_cutoff, step)) * (measured - self._speed)
        self._raw = points
        drift = _common(self._value[:, :2], self._speed[:, :2])
        drift *= np.maximum(1 - o.dead_drift / (_length(drift) + 1e-9), 0)
        ahead = self._value.copy()
        ahead[:, :2] += drift * np.float32(step * width)
        gain = np.full((len(points), 1), o.speed_gain, np.float32)
        gain[LIVELY] *= o.lively_gain
        cutoff = o.cutoff + gain * np.maximum(_length(self._speed[:, :2]) - o.dead_speed, 0)
        turn = np.float32(2 * math.pi * step) * cutoff
        error = (1 / (turn + 1)) * (ahead - points)
        far = _length(error[:, :2]) / (o.max_error * width)
        self._value = (points + error / np.maximum(far, 1)).astype(np.float32)
        return self._value


def _common(points: Points, speed: Points) -> Points:
    """The part of the points' speeds (n, 2) that a moving, turning and growing face gives them all."""
    place, mean = points - points.mean(0), speed.mean(0)
    spread = float((place * place).sum()) + 1e-9
    growth = float((place * speed).sum()) / spread
    turn = float((place[:, 0] * speed[:, 1] - place[:, 1] * speed[:, 0]).sum()) / spread
    shared: Points = place @ np.array([[growth, turn], [-turn, growth]], np.float32) + mean
    return shared


def _length(vectors: Points) -> Points:
    """(n, 1)."""
    squares: Points = vectors[:, :1] ** 2 + vectors[:, 1:] ** 2
    return np.sqrt(squares)


def _alpha(cutoff: float, step: float) -> float:
    """Weight of the newest value in an exponential filter of this cutoff (Hz) and step (s)."""
    turn = 2 * math.pi * cutoff * step
    return turn / (turn + 1)
