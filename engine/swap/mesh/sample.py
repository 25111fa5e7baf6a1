"""The target's face read into the small atlas, where pose does not matter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.identity import TEXELS
from engine.swap.mesh.pixels import blurred, look_up, stretched
from engine.swap.mesh.raster import Cover
from engine.swap.mesh.regions import Plane, atlas_cover, regions
from engine.swap.mesh.shape import smoothstep
from engine.swap.mesh.topology import INNER_RING, OUTER_RING, OVAL, SURFACE, VERTICES
from engine.track.shrink import halved
from engine.types import Image

GRID = TEXELS // 2
"""Side of the grid on which the mesh is drawn: between its cells places are all but linear."""
LEAST = 0.9
"""Longer side of the face's picture over `TEXELS`, down to which it is halved before it is read: about
one pixel for each texel, so that reading averages."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One frame's face in the small atlas.

    Attributes:
        colour: float32 (TEXELS, TEXELS, 3), BGR, 0..255.
        seen: float32 (TEXELS, TEXELS), 1 = faces the camera and lies in the picture.
    """

    colour: NDArray[np.float32]
    seen: Plane


def sample_face(image: Image, points: NDArray[np.float32], facing: NDArray[np.float32]) -> Sample:
    """Read the face at `points` (542, 2), frame pixels, with `facing` (468,) from `shape.facing`."""
    height, width = image.shape[:2]
    lo = np.floor(points[:SURFACE].min(0)).astype(int) - 2
    hi = np.ceil(points[:SURFACE].max(0)).astype(int) + 3
    x0, y0 = np.clip(lo, 0, (width - 2, height - 2))
    x1, y1 = np.clip(hi, (x0 + 2, y0 + 2), (width, height))
    times = 0
    while max(hi - lo) >= 2 * LEAST * TEXELS * 2**times and min(x1 - x0, y1 - y0) >= 4 * 2**times:
        times += 1
    crop = halved(image[y0:y1, x0:x1], times)

    values = np.zeros((VERTICES, 3), np.float32)
    values[:, :2] = (points - (x0, y0) + 0.5) * 0.5**times - 0.5
    values[:SURFACE, 2] = smoothstep(facing, 0.05, 0.35)
    values[INNER_RING, 2] = values[OUTER_RING, 2] = values[OVAL, 2]
    values[-2:, 2] = 1
    planes = stretched(_cover().draw(values), TEXELS, TEXELS)
    place = np.ascontiguousarray(planes[..., :2])
    u, v = place[..., 0], place[..., 1]
    inside = (u > -1) & (u < crop.shape[1]) & (v > -1) & (v < crop.shape[0])
    return Sample(look_up(crop, place).astype(np.float32), planes[..., 2] * inside * regions(TEXELS).face)


def bare_skin() -> Plane:
    """Texels that are skin on every face: no eyes, brows, lips or nostrils."""
    part = regions(TEXELS)
    return part.face * (1 - blurred(part.features, 0.8))


@cache
def _cover() -> Cover:
    return atlas_cover(GRID)
