"""Ways to join a patch to its frame; the pipeline's `paste` is the quick one, the others are for files.

Multi-band: "A Multiresolution Spline With Application to Image Mosaics", Burt and Adelson 1983.
Poisson: "Poisson Image Editing", Pérez et al. 2003, as OpenCV has it.
"""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.blend.paste import paste, placed
from engine.config import Blend
from engine.types import Image, Mask, Patch

_BANDS = 4
_SOLID = 128
_LEAST = 8
"""Pixels; smaller patches have no bands and no gradients worth it."""

Paster = Callable[[Image, Patch], None]


def paster(blend: Blend) -> Paster:
    """The function that joins patches to frames in this way, in place."""
    return {Blend.FEATHER: paste, Blend.MULTIBAND: paste_multiband, Blend.POISSON: paste_poisson}[blend]


def paste_multiband(image: Image, patch: Patch) -> None:
    """Join low frequencies over a wide and high ones over a narrow seam. Mask 0 keeps every bit."""
    found = placed(patch, image.shape[1], image.shape[0])
    if found is None:
        return
    made, mask, (x, y) = found
    view = image[y : y + mask.shape[0], x : x + mask.shape[1]]
    if min(mask.shape) < _LEAST << _BANDS:
        paste(image, patch)
        return
    # Inside the mask by the width of the coarsest band's fade, or the mask would cut that off.
    inset = min(1 << _BANDS, min(mask.shape) // 8)
    solid = cv2.copyMakeBorder((mask >= _SOLID).astype(np.uint8), 1, 1, 1, 1, cv2.BORDER_CONSTANT)
    depth = cv2.distanceTransform(solid, cv2.DIST_L2, 3)[1:-1, 1:-1]
    seam = (depth > inset).astype(np.float32)
    total = _joined(_pyramid(made), _pyramid(view), seam)
    _keep(view, np.clip(np.rint(total), 0, 255).astype(np.uint8), mask)


def paste_poisson(image: Image, patch: Patch) -> None:
    """Take the patch's gradients and the frame's colours at the seam. Mask 0 keeps every bit."""
    found = placed(patch, image.shape[1], image.shape[0])
    if found is None:
        return
    made, mask, (x, y) = found
    view = image[y : y + mask.shape[0], x : x + mask.shape[1]]
    solid = np.where(mask >= _SOLID, 255, 0).astype(np.uint8)
    solid[[0, -1], :] = 0  # the solver needs a border to take colours from
    solid[:, [0, -1]] = 0
    left, top, width, height = cv2.boundingRect(solid)
    if min(width, height) < _LEAST:
        paste(image, patch)
        return
    centre = (left + width // 2, top + height // 2)
    cloned = cv2.seamlessClone(np.ascontiguousarray(made), view.copy(), solid, centre, cv2.NORMAL_CLONE)
    _keep(view, np.asarray(cloned, np.uint8), mask)


def _keep(view: Image, made: Image, mask: Mask) -> None:
    """Write `made` where the mask is not 0, fading over its last levels, so that no edge is left."""
    weight = np.minimum(mask.astype(np.float32) * np.float32(1 / _SOLID), 1)
    view[:] = cv2.blendLinear(view, made, 1 - weight, weight)


def _pyramid(picture: Image) -> list[NDArray[np.float32]]:
    """Laplacian bands, the finest first, and what is left."""
    bands = []
    level = picture.astype(np.float32)
    for _ in range(_BANDS):
        smaller = cv2.pyrDown(level)
        bands.append(level - cv2.pyrUp(smaller, dstsize=(level.shape[1], level.shape[0])))
        level = np.asarray(smaller, np.float32)
    return [*bands, level]


def _joined(
    one: list[NDArray[np.float32]], other: list[NDArray[np.float32]], seam: NDArray[np.float32]
) -> NDArray[np.float32]:
    weights = [cv2.GaussianBlur(seam, (0, 0), 1)]
    for _ in range(_BANDS):
        weights.append(cv2.pyrDown(weights[-1]))
    levels = [
        cv2.blendLinear(a, b, weight, 1 - weight)
        for a, b, weight in zip(one, other, map(np.asarray, weights), strict=True)
    ]
    total = levels[-1]
    for level in reversed(levels[:-1]):
        total = cv2.pyrUp(total, dstsize=(level.shape[1], level.shape[0])) + level
    return np.asarray(total, np.float32)
