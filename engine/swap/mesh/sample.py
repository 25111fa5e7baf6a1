"""The target's face read into the small atlas, where pose does not matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.identity import TEXELS
from engine.swap.mesh.pixels import blurred, look_up, shrunk
from engine.swap.mesh.regions import Plane, regions, texel_weights
from engine.swap.mesh.shape import smoothstep
from engine.swap.mesh.topology import SURFACE, VERTICES
from engine.types import Image


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
    crop = image[y0:y1, x0:x1]
    scale = min(1.0, 1.25 * TEXELS / max(hi - lo))
    small_w, small_h = max(round((x1 - x0) * scale), 2), max(round((y1 - y0) * scale), 2)
    crop = shrunk(crop, small_w, small_h)
    sx, sy = small_w / (x1 - x0), small_h / (y1 - y0)

    vertices, shares, on_face = texel_weights(TEXELS)
    values = np.zeros((VERTICES, 3), np.float32)
    values[:, 0] = (points[:, 0] - x0 + 0.5) * sx - 0.5
    values[:, 1] = (points[:, 1] - y0 + 0.5) * sy - 0.5
    values[:SURFACE, 2] = smoothstep(facing, 0.05, 0.35)
    values[-2:, 2] = 1
    planes = np.einsum("hwk,hwkc->hwc", shares, values[vertices])
    place = np.ascontiguousarray(planes[..., :2])
    colour = look_up(crop, place)
    u, v = place[..., 0], place[..., 1]
    inside = (u > -1) & (u < small_w) & (v > -1) & (v < small_h) & on_face
    return Sample(colour.astype(np.float32), planes[..., 2] * inside)


def bare_skin() -> Plane:
    """Texels that are skin on every face: no eyes, brows, lips or nostrils."""
    part = regions(TEXELS)
    return part.face * (1 - blurred(part.features, 0.8))
