"""Moving faces of a wanted size in pictures of a wanted size, made from what a dependency ships.

The face is NASA's public-domain portrait of Eileen Collins (`skimage.data.astronaut`), moved gently
by a similarity transform; it needs no clip, and the cost of a swap does not depend on the person.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np

from engine.errors import InputError
from engine.track.detector import Detector
from engine.track.landmarks import Landmarker, region_from_detection
from engine.types import Frame, Image

FPS = 30
SWAY_PX, TILT_DEG, ZOOM = 0.03, 6.0, 0.03
"""Amplitudes: of the face's width, degrees, and relative."""
TILE = 1.6
"""Side of the square that one face with its hair takes, over the face's width."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What is in the picture.

    Attributes:
        width, height: of the picture, pixels.
        face: width of each face (box of its landmarks), pixels.
        faces: how many, in one row.
    """

    width: int
    height: int
    face: int
    faces: int = 1

    @property
    def name(self) -> str:
        """For tables."""
        return f"{self.width}×{self.height}"

    def frames(self, count: int) -> list[Frame]:
        """Consecutive frames at 30 fps that come back to their start: they may be looped."""
        return [
            Frame(i, round(i * 1e9 / FPS), self._draw(2 * math.pi * i / count), i / FPS) for i in range(count)
        ]

    def _draw(self, phase: float) -> Image:
        portrait, centre, width = portrait_face()
        picture = background(self.width, self.height).copy()
        zoom = self.face / width
        tile = min(round(self.face * TILE), self.height)
        for index in range(self.faces):
            turn = phase + index  # neighbours do not move alike
            middle_x = (index + 0.5) * self.width / self.faces
            left, top = round(middle_x - tile / 2), (self.height - tile) // 2
            matrix = cv2.getRotationMatrix2D(
                centre, TILT_DEG * math.sin(turn), zoom * (1 + ZOOM * math.cos(turn))
            )
            sway = SWAY_PX * self.face
            matrix[0, 2] += tile / 2 - centre[0] + sway * math.cos(turn)
            matrix[1, 2] += tile / 2 - centre[1] + sway * math.sin(2 * turn) / 2
            picture[top : top + tile, left : left + tile] = cv2.warpAffine(
                portrait, matrix, (tile, tile), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
            )
        return picture


def astronaut() -> Image:
    """The portrait, uint8 (512, 512, 3) BGR."""
    from skimage import data

    portrait: Image = data.astronaut()  # type: ignore[no-untyped-call]
    return np.ascontiguousarray(portrait[:, :, ::-1])


@cache
def portrait_face() -> tuple[Image, tuple[float, float], float]:
    """The portrait, its face's centre and its width, pixels.

    Raises:
        InputError: the detector does not find it.
    """
    portrait = astronaut()
    found = Detector().detect(portrait)
    if not found:
        raise InputError("The portrait that a library ships shows no face", "Install Kawari again")
    points, _ = Landmarker().locate(portrait, region_from_detection(found[0]))
    low, high = points[:468, :2].min(0), points[:468, :2].max(0)
    x, y = (low + high) / 2
    return portrait, (float(x), float(y)), float(high[0] - low[0])


@cache
def background(width: int, height: int) -> Image:
    """A room out of focus: smooth coloured noise."""
    noise = np.random.default_rng(7).uniform(60, 180, (height // 64 + 2, width // 64 + 2, 3))
    return cv2.resize(noise.astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC).astype(
        np.uint8
    )
