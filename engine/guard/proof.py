"""Did a patch really replace the face? A check by samples, cheap enough for every frame."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.types import Face, Image, Mask, Matrix, Patch

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
    matrix = np.asarray(cv2.invertAffineTransform(patch.matrix), np.float64)
    found = _samples(image, face, patch.mask, matrix)
    if found is None:
        return False
    (x, y), (u, v) = found
    return _new(image[v, u].astype(np.int16), patch.image[y, x].astype(np.int16))


def replaced_in(image: Image, made: Image, face: Face, mask: Mask, matrix: Matrix) -> bool:
    """The same for a patch that was pasted already, where only the result is here to be looked at.

    Args:
        image: the input frame, uint8, H×W×3, BGR.
        made: the finished one.
        face: the face, in their pixels.
        mask: what the patch was pasted with, uint8, h×w.
        matrix: from frame pixels to the mask's.
    """
    found = _samples(image, face, mask, matrix)
    if found is None:
        return False
    (x, y), (u, v) = found
    before = image[v, u].astype(np.int16)
    # Where the mask is soft, the frame shines through: undo that.
    patch = before + (made[v, u].astype(np.int16) - before) * (255 / mask[y, x].astype(np.float32))[:, None]
    return _new(before, np.rint(patch).astype(np.int16))


def _samples(
    image: Image, face: Face, mask: Mask, matrix: Matrix
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Samples that the mask replaces, x and y in the mask and in the frame; None if it covers too few."""
    points = face.landmarks[_SKIN, :2].astype(np.float64)
    if not np.isfinite(points).all():
        return None
    height, width = image.shape[:2]
    points = points[_within(points, width, height)]
    if len(points) == 0:
        return None
    local = points @ matrix[:, :2].T + matrix[:, 2]
    rows, columns = mask.shape
    inside = _within(local, columns, rows)
    if not inside.any():
        return None
    x, y = np.rint(local[inside]).astype(np.intp).T
    solid = mask[y, x] >= 96
    if np.count_nonzero(solid) < _COVERED * len(points):
        return None
    return np.stack([x, y])[:, solid], np.rint(points[inside][solid]).astype(np.intp).T


def _new(before: NDArray[np.int16], made: NDArray[np.int16]) -> bool:
    """Whether samples of a patch are a picture, and another one than the input."""
    if made.max() < _BLACK and before.max() >= 4 * _BLACK:
        return False
    return bool(np.abs(made - before).max() > _CHANGED)


def _within(points: NDArray[np.float64], width: int, height: int) -> NDArray[np.bool_]:
    """Which points round to a pixel of a picture of this size."""
    low = (points >= -0.49).all(axis=1)
    return np.asarray(low & (points[:, 0] < width - 0.51) & (points[:, 1] < height - 0.51))
