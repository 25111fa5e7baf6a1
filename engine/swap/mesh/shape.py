"""Face shape: which way it faces, and what of a source's shape goes onto a target."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

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


def smoothstep(x: NDArray[np.floating], low: float, high: float) -> NDArray[np.float32]:
    """0 below `low`, 1 above `high`, a cubic between."""
    t = np.clip((x - low) / (high - low), 0, 1).astype(np.float32)
    return np.asarray(t * t * (3 - 2 * t), np.float32)


def facing(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """How much each surface vertex faces the camera, (468,): 1 straight, 0 edge-on, negative = behind."""
    skin = topology().triangles[: topology().surface]
    a, b, c = (points[skin[:, i]] for i in range(3))
    of_triangle = np.cross(b - a, c - a)
    corner = skin.ravel()
    normal = np.stack([np.bincount(corner, np.repeat(of_triangle[:, k], 3), SURFACE) for k in range(3)], 1)
    length = np.sqrt((normal * normal).sum(1)) + 1e-6
    return np.asarray(normal[:, 2] / length, np.float32)


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
    shift = source - target
    left, right = MOUTH_CORNERS
    wider = np.clip(_span(source, left, right) / _span(target, left, right), *MOUTH_RANGE)
    thicker = _thickness(source) - _thickness(target)
    shift[LIPS] = shift[LIPS].mean(0)
    shift[LIPS, 0] += (wider - 1) * (current[LIPS, 0] - current[LIPS, 0].mean())
    shift[LIPS_OUTER] += thicker
    for eye, (outer, inner, up, low) in ((RIGHT_EYE, (33, 133, 159, 145)), (LEFT_EYE, (263, 362, 386, 374))):
        width = np.clip(_span(source, outer, inner) / _span(target, outer, inner), *EYE_RANGE)
        height = np.clip(_span(source, up, low) / _span(target, up, low), *LID_RANGE)
        around = current[eye, :2] - current[eye, :2].mean(0)
        shift[eye] = shift[eye].mean(0)
        shift[eye, :2] += around * (width - 1, height - 1)
    anchors, weights = _spread()
    return np.asarray(weights @ shift[anchors])


def _span(shape: Shape, a: int, b: int) -> float:
    return float(np.linalg.norm(shape[a] - shape[b]))


def _thickness(shape: Shape) -> Shape:
    """From the inner to the outer contour of the lips, (20, 3); both rings run alike."""
    return shape[LIPS_OUTER] - shape[LIPS_INNER]
