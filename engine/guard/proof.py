"""Did a patch really replace the face? A check by samples, cheap enough for every frame."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.types import Face, Image, Patch

_SKIN = np.array(
    [
        10,
        67,
        297,
        151,
        9,
        6,
        4,
        50,
        280,
        205,
        425,
        187,
        411,
        101,
        330,
        116,
        345,
        164,
        18,
        200,
        208,
        428,
        135,
        364,
    ]
)
"""FaceMesh vertices on skin that every swap replaces: forehead, bridge and tip of the nose, cheeks,
upper lip, chin, jaw. Eyes and mouth are left out, since swaps may keep them on purpose."""
_COVERED = 0.25
"""Share of the samples that must be replaced. Low, because a hand or the pose may hide the rest."""
_CHANGED = 3
"""Levels; a patch nearer to the input than this at every sample is the input."""
_BLACK = 2
"""Levels; a patch darker than this at every sample is the output of a broken model."""


def replaced(image: Image, face: Face, patch: Patch) -> bool:
    """True if `patch` covers the face, differs from it and is a picture.

    Args:
        image: the input frame, uint8, H×W×3, BGR.
        face: the face, in its pixels.
        patch: what the swapper made for it.
    """
    points = face.landmarks[_SKIN, :2].astype(np.float64)
    if not np.isfinite(points).all():
        return False
    height, width = image.shape[:2]
    points = points[_within(points, width, height)]
    if len(points) == 0:
        return False
    inverse = cv2.invertAffineTransform(patch.matrix)
    local = points @ inverse[:, :2].T + inverse[:, 2]
    rows, columns = patch.mask.shape
    inside = _within(local, columns, rows)
    if not inside.any():
        return False
    x, y = np.rint(local[inside]).astype(np.intp).T
    solid = patch.mask[y, x] >= 96
    if np.count_nonzero(solid) < _COVERED * len(points):
        return False
    made = patch.image[y[solid], x[solid]].astype(np.int16)
    u, v = np.rint(points[inside][solid]).astype(np.intp).T
    before = image[v, u].astype(np.int16)
    if made.max() < _BLACK and before.max() >= 4 * _BLACK:
        return False
    return bool(np.abs(made - before).max() > _CHANGED)


def _within(points: NDArray[np.float64], width: int, height: int) -> NDArray[np.bool_]:
    """Which points round to a pixel of a picture of this size."""
    low = (points >= -0.49).all(axis=1)
    return np.asarray(low & (points[:, 0] < width - 0.51) & (points[:, 1] < height - 0.51))
