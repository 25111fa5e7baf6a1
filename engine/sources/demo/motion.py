"""How the demo person moves: deterministic, endless, a function of time and seed only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_TURN_PERIODS_S = (11.3, 6.1, 3.7)
_SWAY_PERIODS_S = (17.0, 8.3, 5.1)
_SHARES = (0.55, 0.3, 0.15)
_START_S = 1.0  # looks straight ahead first, so that whoever watches finds the face at once
_BLINK_EVERY_S = 3.4
_BLINK_S = 0.22
_PHRASE_S = 5.0
_SYLLABLE_S = 0.19


@dataclass(frozen=True, slots=True)
class Pose:
    """The demo person at one moment.

    Attributes:
        yaw, pitch, roll: of the head, degrees, as in `engine.track.pose`.
        sway: (x, y) of the body, as a fraction of the face's width.
        scale: of the body, 1 = at rest.
        blink: 0 = eyes open, 1 = closed.
        mouth: −1 = lips closed, 0 = the photo's smile, 1 = wide open.
        brows: 0..1, how far they are raised.
    """

    yaw: float
    pitch: float
    roll: float
    sway: tuple[float, float]
    scale: float
    blink: float
    mouth: float
    brows: float


class Motion:
    """Gives the pose at any time."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._phases = np.random.default_rng(seed).uniform(0, 2 * math.pi, (6, 3))

    def at(self, seconds: float) -> Pose:
        """The pose `seconds` after the start."""
        ease = min(1.0, seconds / _START_S) ** 2
        yaw, pitch, roll = (ease * self._wave(i, seconds, _TURN_PERIODS_S) for i in range(3))
        x, y, scale = (ease * self._wave(i, seconds, _SWAY_PERIODS_S) for i in range(3, 6))
        loudness = self._phrase(seconds)
        return Pose(
            yaw=23 * yaw,
            pitch=10 * pitch,
            roll=10 * roll,
            sway=(0.22 * x, 0.06 * y),
            scale=1 + 0.05 * scale,
            blink=self._blink(seconds),
            mouth=self._mouth(seconds) * loudness,
            brows=0.8 * loudness * max(0.0, self._wave(1, seconds * 3, _TURN_PERIODS_S)),
        )

    def _wave(self, row: int, seconds: float, periods: tuple[float, ...]) -> float:
        """−1..1, smooth."""
        turns = 2 * math.pi * seconds
        return sum(
            share * math.sin(turns / period + phase)
            for share, period, phase in zip(_SHARES, periods, self._phases[row], strict=True)
        )

    def _draw(self, kind: int, number: int) -> float:
        """0..1, fixed for each number."""
        return float(np.random.default_rng((self._seed, kind, number)).random())

    def _blink(self, seconds: float) -> float:
        turn = int(seconds // _BLINK_EVERY_S)
        start = turn * _BLINK_EVERY_S + 0.9 + self._draw(0, turn) * (_BLINK_EVERY_S - 1.3)
        into = (seconds - start) / _BLINK_S
        # lids close twice as fast as they open
        if not 0 < into < 1:
            return 0.0
        return _smooth(into * 3) if into < 1 / 3 else _smooth((1 - into) * 1.5)

    def _phrase(self, seconds: float) -> float:
        """0 while silent, 1 while speaking."""
        turn, into = divmod(seconds, _PHRASE_S)
        spoken = 2.2 + 2.2 * self._draw(1, int(turn))
        return _smooth((into - 0.5) * 5) * _smooth((spoken - into) * 5)

    def _mouth(self, seconds: float) -> float:
        turn, into = divmod(seconds, _SYLLABLE_S)
        here, there = (1.9 * self._draw(2, int(turn) + k) - 0.9 for k in (0, 1))
        return here + (there - here) * _smooth(into / _SYLLABLE_S)


def _smooth(x: float) -> float:
    x = min(1.0, max(0.0, x))
    return x * x * (3 - 2 * x)
