"""Face shape: which way it faces, and what of a source's shape goes onto a target."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.swap.mesh.topology import (
    LEFT_BROW,
    LEFT_EYE,
    LIPS_INNER,
    LIPS_OUTER,
    MOUTH_CORNERS,
    NOSE,
    OVAL,
    RIGHT_BROW,
    RIGHT_EYE,
    SURFACE,
    topology,
)
from engine.track.topology import SKIN_TRIANGLES

MOUTH_RANGE, EYE_RANGE, LID_RANGE = (0.9, 1.12), (0.8, 1.25), (0.75, 1.35)
"""Limits of the scale of the mouth's width, the eyes' width and their height."""

Shape = NDArray[np.float64]
"""float64, (468, 3)."""

LIPS = np.union1d(LIPS_INNER, LIPS_OUTER)
BROWS = np.concatenate([RIGHT_BROW, LEFT_BROW])
_PARTS = (LIPS, RIGHT_EYE, LEFT_EYE)
_MOBILE = np.concatenate(_PARTS)
_PART = np.repeat(np.arange(len(_PARTS)), [len(part) for part in _PARTS])
"""Which of the parts each of the `_MOBILE` vertices belongs to."""
_MIDDLES = np.zeros((len(_PARTS), SURFACE))
for _row, _vertices in zip(_MIDDLES, _PARTS, strict=True):
    _row[_vertices] = 1 / len(_vertices)
_SPAN_ENDS = np.array([[*MOUTH_CORNERS], [33, 133], [159, 145], [263, 362], [386, 374]]).T
_SPAN_RANGES = np.array([MOUTH_RANGE, EYE_RANGE, LID_RANGE, EYE_RANGE, LID_RANGE]).T


def smoothstep(x: ArrayLike, low: float, high: float) -> NDArray[np.float32]:
    """0 below `low`, 1 above `high`, a cubic between."""
    t = np.clip((np.asarray(x, np.float32) - low) / (high - low), 0, 1)
    return np.asarray(t * t * (3 - 2 * t), np.float32)


def facing(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """How much each surface vertex faces the camera, (468,): 1 straight, 0 edge-on, negative = behind."""
    skin = topology().triangles[: topology().surface]
    corners = points.T.take(skin.T, axis=1)
    (ux, uy, uz), (vx, vy, vz) = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    of_triangle = (uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx)
    corner = skin.ravel()
    x, y, z = (np.bincount(corner, np.repeat(each, 3), SURFACE) for each in of_triangle)
    return np.asarray(z / (np.sqrt(x * x + y * y + z * z) + 1e-6), np.float32)


@cache
def _spread() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Anchors, and the harmonic weights (468, anchors) that spread their shift over the skin."""
    anchors = np.unique(np.concatenate([OVAL, LEFT_EYE, RIGHT_EYE, BROWS, NOSE, LIPS]))
    laplacian = np.zeros((SURFACE, SURFACE))
    for i, j in ((0, 1), (1, 2), (2, 0)):
        laplacian[SKIN_TRIANGLES[:, i], SKIN_TRIANGLES[:, j]] = -1
        laplacian[SKIN_TRIANGLES[:, j], SKIN_TRIANGLES[:, i]] = -1
    np.fill_diagonal(laplacian, -laplacian.sum(1))
    free = np.setdiff1d(np.arange(SURFACE), anchors)
    weights = np.zeros((SURFACE, len(anchors)))
    weights[anchors, np.arange(len(anchors))] = 1
    weights[free] = np.linalg.solve(laplacian[np.ix_(free, free)], -laplacian[np.ix_(free, anchors)])
    return anchors, weights


def transfer(source: Shape, target: Shape, current: Shape) -> Shape:
    """The shift (468, 3), centimetres, that gives the target the source's proportions.

    Eyes, lips and brows keep following the target's expression: an eye and the mouth are moved and
    scaled as they are *now*, so that a closed eye stays closed.

    Args:
        source, target: the neutral shapes of both.
        current: the target as it is in this frame, pose taken out.
    """
    difference = source - target
    larger = np.clip(_spans(source) / _spans(target), *_SPAN_RANGES) - 1
    growth = np.zeros((len(_PARTS), 3))
    growth[0, 0] = larger[0]
    growth[1:, :2] = larger[1:].reshape(2, 2)
    shift = difference.copy()
    around = current[_MOBILE] - (_MIDDLES @ current)[_PART]
    shift[_MOBILE] = (_MIDDLES @ difference)[_PART] + around * growth[_PART]
    shift[LIPS_OUTER] += difference[LIPS_OUTER] - difference[LIPS_INNER]  # thicker or thinner lips
    anchors, weights = _spread()
    return np.asarray(weights @ shift[anchors])


def _spans(shape: Shape) -> NDArray[np.float64]:
    """Width of the mouth, width and height of the right and of the left eye, (5,)."""
    return np.asarray(np.linalg.norm(shape[_SPAN_ENDS[0]] - shape[_SPAN_ENDS[1]], axis=1))
