"""Looking at turned pictures: the detectors know upright faces, people also lie down."""

from __future__ import annotations

import math
from collections.abc import Collection

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.track.landmarks import region_from_landmarks
from engine.types import Image, Points

TURNS = (1, 3, 2)
"""Turns besides 0, in quarters counter-clockwise as `numpy.rot90` counts them, the likeliest first."""
_ROTATE = {1: cv2.ROTATE_90_COUNTERCLOCKWISE, 2: cv2.ROTATE_180, 3: cv2.ROTATE_90_CLOCKWISE}
_EVERY = 5
"""Frames from one turned look to the next, at least, while all followed faces are seen."""
_APART = 2
"""Frames between an upright and a turned look, at least."""


def turned(square: Image, turn: int) -> Image:
    """A square picture turned by `turn` quarters counter-clockwise; itself for 0."""
    return square if turn == 0 else np.asarray(cv2.rotate(square, _ROTATE[turn]), np.uint8)


def points_back(points: Points, turn: int, side: float) -> Points:
    """Points (…, 2) of the turned square as points of the square itself.

    Args:
        side: its length where coordinates count from pixel edges, less 1 where from pixel centres.
    """
    x, y = points[..., 0], points[..., 1]
    if turn == 1:
        x, y = side - y, x
    elif turn == 2:
        x, y = side - x, side - y
    elif turn == 3:
        x, y = y, side - x
    return np.stack([x, y], -1)


def boxes_back(boxes: NDArray[np.float32], turn: int, side: float) -> NDArray[np.float32]:
    """The same for boxes (n, 4): x0, y0, x1, y1."""
    corners = points_back(boxes.reshape(-1, 2, 2), turn, side)
    ordered: NDArray[np.float32] = np.sort(corners, axis=1).reshape(-1, 4)
    return ordered


def turn_of(landmarks: Points) -> int:
    """The turn, 0 to 3, that brings this face nearest to upright."""
    return round(region_from_landmarks(landmarks).angle / (math.pi / 2)) % 4


class Rota:
    """Whose turn it is: while faces are followed, one turned look after the other, one a frame at most."""

    def __init__(self) -> None:
        self._order = list(TURNS)
        self._since = 0

    def due_between(self, since_upright: int) -> bool:
        """A turned look is due, although all followed faces are seen, some frames after an upright one.

        Args:
            since_upright: frames since the last upright look.
        """
        return self._since >= _EVERY and self._since > since_upright > _APART

    @property
    def overdue(self) -> bool:
        """It has been due for so long that it must share a frame with an upright look."""
        return self._since >= 2 * _EVERY

    def frame(self) -> None:
        """Another frame begins."""
        self._since += 1

    def prefer(self, turn: int) -> None:
        """Look in this turn next; 0 is looked in anyway."""
        if turn:
            self._order.sort(key=lambda each: each != turn)

    def take(self, doubted: Collection[int] = ()) -> int:
        """The turn to look in now.

        Args:
            doubted: turns in which something doubtful was seen; they get every second look.
        """
        last = self._order[-1]
        turn = next((each for each in self._order if each in doubted and each != last), self._order[0])
        self.looked(turn)
        return turn

    def looked(self, turn: int) -> None:
        """There was a look in this turn."""
        self._order.remove(turn)
        self._order.append(turn)
        self._since = 0
