"""Fixed regions of the atlas, painted once per size: the same face parts for every person."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.pixels import blurred
from engine.swap.mesh.raster import Cover, cover
from engine.swap.mesh.shape import smoothstep
from engine.swap.mesh.topology import (
    LEFT_BROW,
    LEFT_EYE,
    LIPS_INNER,
    LIPS_OUTER,
    NOSE,
    OVAL,
    RIGHT_BROW,
    RIGHT_EYE,
    topology,
)

MARGIN = 0.03
"""Free border of the atlas, as a part of its side."""
FACE_WIDTH = 0.72
"""Width of a frontal face in the atlas, as a part of its side: the middle of the atlas is drawn to
this scale, the cheeks are unrolled beyond it."""
EDGE = 0.06
"""Width of the soft edge inside the oval, as a part of the atlas's side."""
SIDE_EDGE = 0.11
"""The same before the ears, where photos show hair, ears or a blur more often than skin."""
NOSTRILS = np.array([98, 97, 2, 326, 327])

Plane = NDArray[np.float32]
"""float32, (size, size), 0..1."""


@dataclass(frozen=True)
class Regions:
    """Masks of one atlas size, each float32 (size, size), 0..1.

    Attributes:
        face: inside the oval, hard.
        edge: the soft version that fades towards the oval.
        features: eyes, brows, lips, nostrils, with a small margin.
        brows, eyes, lips: soft.
        mouth: between the lips, hard.
        centre: eyes, nose, mouth and what lies between, where nothing is ever taken for hair.
        seed: the middle of the face without features: skin on every photo.
        core: cheeks, nose and chin without features: surely skin on a bare face.
        upper: 1 above the eyes, fading to 0 at the nose tip.
        middle: 1 between the eyes' outer corners, fading to 0 towards the ears.
        chin: moustache and chin.
    """

    face: Plane
    edge: Plane
    features: Plane
    brows: Plane
    eyes: Plane
    lips: Plane
    mouth: Plane
    centre: Plane
    seed: Plane
    core: Plane
    upper: Plane
    middle: Plane
    chin: Plane


def atlas_points(size: int) -> NDArray[np.float32]:
    """The 542 vertices in an atlas of `size` pixels a side, float32 (542, 2), pixel centres at integers."""
    return ((MARGIN + topology().uv * (1 - 2 * MARGIN)) * size - 0.5).astype(np.float32)


@cache
def regions(size: int) -> Regions:
    """Paint the regions for an atlas of `size` pixels a side."""
    points = atlas_points(size)

    def hull(*groups: NDArray[np.int64], grow: float = 0.0) -> NDArray[np.uint8]:
        out = np.zeros((size, size), np.uint8)
        for group in groups:
            outline = cv2.convexHull(points[group]).reshape(-1, 2)
            cv2.fillPoly(out, [np.round(outline * 16).astype(np.int32)], 1, shift=4)
        radius = round(grow * size)
        if radius:
            kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
            out = np.asarray(cv2.dilate(out, kernel), np.uint8)
        return out

    def soft(mask: NDArray[np.uint8], sigma: float) -> Plane:
        return blurred(mask.astype(np.float32), max(sigma * size, 0.4))

    face = np.zeros((size, size), np.uint8)
    cv2.fillPoly(face, [np.round(points[OVAL] * 16).astype(np.int32)], 1, shift=4)
    features = hull(LEFT_EYE, RIGHT_EYE, LEFT_BROW, RIGHT_BROW, LIPS_OUTER, NOSTRILS, grow=0.015)
    centre = hull(np.concatenate([LEFT_EYE, RIGHT_EYE, LIPS_OUTER, NOSE]), grow=0.015)
    centre |= hull(np.concatenate([LEFT_BROW, LEFT_EYE]), np.concatenate([RIGHT_BROW, RIGHT_EYE]), grow=0.012)
    lids = np.concatenate([LEFT_EYE, RIGHT_EYE])
    seed = hull(np.concatenate([lids, LIPS_OUTER, NOSE])) * (features == 0)
    distance = cv2.distanceTransform(
        cv2.copyMakeBorder(face, 1, 1, 1, 1, cv2.BORDER_CONSTANT), cv2.DIST_L2, 5
    )
    distance = distance[1:-1, 1:-1] / size
    y = np.broadcast_to(np.arange(size, dtype=np.float32)[:, None], (size, size))
    x = np.arange(size, dtype=np.float32)[None, :] / size
    sides = np.minimum(x, 1 - x) - MARGIN + np.zeros_like(y)
    eye_line, nose_tip = points[[33, 263], 1].mean(), points[1, 1]
    core = ((distance > 0.06) & (features == 0) & (y > eye_line)).astype(np.float32)
    chin = hull(np.array([61, 291, 2, 152, 176, 400, 149, 378])) * (features == 0) * (distance > 0.04)
    return Regions(
        face=face.astype(np.float32),
        edge=smoothstep(distance, 0.005, EDGE) * smoothstep(sides, 0.01, SIDE_EDGE),
        features=features.astype(np.float32),
        brows=soft(hull(LEFT_BROW, RIGHT_BROW, grow=0.008), 0.008),
        eyes=soft(hull(LEFT_EYE, RIGHT_EYE), 0.006),
        lips=soft(hull(LIPS_OUTER), 0.006),
        mouth=hull(LIPS_INNER).astype(np.float32),
        centre=centre.astype(np.float32),
        seed=seed * (y > eye_line),
        core=core,
        upper=1 - smoothstep(y, eye_line, nose_tip),
        middle=1 - smoothstep(np.abs(x - 0.5) + np.zeros_like(y), 0.2, 0.3),
        chin=chin.astype(np.float32),
    )


def atlas_cover(size: int) -> Cover:
    """The mesh with its rings drawn into an atlas of `size` pixels a side, to carry vertex values there."""
    mesh = topology()
    rings_first = np.roll(mesh.triangles, len(mesh.triangles) - mesh.rings.start, axis=0)
    return cover(atlas_points(size), rings_first, (size, size))
