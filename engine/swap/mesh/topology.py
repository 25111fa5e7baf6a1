"""The mesh that both faces share: the face's surface, two rings round it, the irises.

Vertices (`VERTICES` = 542): 0..467 the surface in FaceMesh order, then two rings round the face oval
(36 each) in which the background is bent so that it meets the new outline, then the two irises
(right, left). Names and canonical shape come from `engine.track.topology`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from engine.track.topology import (
    CANONICAL,
    LEFT_BROW,
    LEFT_EYE,
    LIPS_INNER,
    LIPS_OUTER,
    NOSE,
    OVAL,
    RIGHT_BROW,
    RIGHT_EYE,
    SKIN_TRIANGLES,
    SURFACE,
    TRIANGLES,
    UV,
)

RING = len(OVAL)
INNER_RING = slice(SURFACE, SURFACE + RING)
OUTER_RING = slice(SURFACE + RING, SURFACE + 2 * RING)
IRIS_RIGHT, IRIS_LEFT = SURFACE + 2 * RING, SURFACE + 2 * RING + 1
VERTICES = SURFACE + 2 * RING + 2
MOUTH_CORNERS = (61, 291)

INNER_SCALE, OUTER_SCALE = 1.22, 1.4
"""How far the rings lie outside the oval, as multiples of the distance to its centre."""


@dataclass(frozen=True)
class Topology:
    """Triangles, atlas coordinates and symmetry of the mesh.

    Attributes:
        uv: float32 (542, 2), position of every vertex in the atlas, 0..1, v downwards; rings outside.
        triangles: int32 (T, 3); first `surface` ones of the skin, turned so that a visible one has a
            positive area on the screen, then `mouth` ones between the lips, then `eyes` ones round the
            irises, then those of the rings.
        openings: bool (T,), those of mouth and eyes, and the skin that touches them.
    """

    uv: NDArray[np.float32]
    triangles: NDArray[np.int32]
    surface: int
    mouth: int
    eyes: int
    openings: NDArray[np.bool_]

    @property
    def fills(self) -> slice:
        """The triangles of mouth and eyes."""
        return slice(self.surface, self.surface + self.mouth + self.eyes)

    @property
    def rings(self) -> slice:
        """The triangles of the rings."""
        return slice(self.surface + self.mouth + self.eyes, len(self.triangles))


def with_rings(points: NDArray[np.float32], irises: NDArray[np.float32]) -> NDArray[np.float32]:
    """All 542 vertices, float32 (542, 2), from 468 surface points (…, ≥ 2) and two irises."""
    surface = points[:SURFACE, :2]
    oval = surface[OVAL]
    centre = oval.mean(0)
    rings = [centre + scale * (oval - centre) for scale in (INNER_SCALE, OUTER_SCALE)]
    return np.concatenate([surface, *rings, irises]).astype(np.float32)


@cache
def topology() -> Topology:
    """The topology, worked out once."""
    skin = SKIN_TRIANGLES.copy()
    # In the flat atlas no triangle folds over, so its winding is the one to agree with.
    a, b, c = (UV[skin[:, i]] for i in range(3))
    ab, ac = b - a, c - a
    turned = ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0] < 0
    skin[turned] = skin[turned][:, ::-1]
    mouth = TRIANGLES[np.isin(TRIANGLES, LIPS_INNER).all(1)]
    eyes = [
        (iris, ring[i], ring[(i + 1) % len(ring)])
        for iris, ring in ((IRIS_RIGHT, RIGHT_EYE), (IRIS_LEFT, LEFT_EYE))
        for i in range(len(ring))
    ]
    rings = []
    for i in range(RING):
        j = (i + 1) % RING
        inner, outer = SURFACE, SURFACE + RING
        rings += [(OVAL[i], OVAL[j], inner + i), (OVAL[j], inner + j, inner + i)]
        rings += [(inner + i, inner + j, outer + i), (inner + j, outer + j, outer + i)]
    triangles = np.concatenate([skin, mouth, np.array(eyes), np.array(rings)]).astype(np.int32)
    irises = np.stack([UV[RIGHT_EYE].mean(0), UV[LEFT_EYE].mean(0)])
    return Topology(
        uv=with_rings(UV, irises),
        triangles=triangles,
        surface=len(skin),
        mouth=len(mouth),
        eyes=len(eyes),
        openings=np.asarray(np.isin(triangles, [*LIPS_INNER, *RIGHT_EYE, *LEFT_EYE]).any(1)),
    )


__all__ = [
    "CANONICAL",
    "INNER_RING",
    "IRIS_LEFT",
    "IRIS_RIGHT",
    "LEFT_BROW",
    "LEFT_EYE",
    "LIPS_INNER",
    "LIPS_OUTER",
    "MOUTH_CORNERS",
    "NOSE",
    "OUTER_RING",
    "OVAL",
    "RIGHT_BROW",
    "RIGHT_EYE",
    "SURFACE",
    "VERTICES",
    "Topology",
    "topology",
    "with_rings",
]
