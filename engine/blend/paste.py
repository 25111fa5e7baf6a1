"""Putting a patch into a frame, touching only the pixels that it changes."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.types import Image, Mask, Patch


def paste(image: Image, patch: Patch) -> None:
    """Blend `patch` into `image` in place.

    Args:
        image: the writable copy of the frame that will leave, uint8, H×W×3, BGR.
        patch: see `engine.types.Patch`; parts outside the frame are ignored. Where its mask is 0 the
            frame keeps its pixels bit for bit.
    """
    found = placed(patch, image.shape[1], image.shape[0])
    if found is None:
        return
    picture, mask, (x, y) = found
    height, width = mask.shape
    view = image[y : y + height, x : x + width]
    soft = cv2.inRange(mask, 1, 254)
    left, top, columns, rows = cv2.boundingRect(soft)
    if columns:
        part = slice(top, top + rows), slice(left, left + columns)
        blended = _blended(view[part], picture[part], mask[part])
        cv2.copyTo(blended, soft[part], view[part])
    cv2.copyTo(picture, cv2.inRange(mask, 255, 255), view)


def _blended(view: Image, picture: Image, mask: Mask) -> Image:
    weight = mask.astype(np.float32) * np.float32(1 / 255)
    return np.asarray(cv2.blendLinear(view, picture, 1 - weight, weight), np.uint8)


def placed(patch: Patch, width: int, height: int) -> tuple[Image, Mask, tuple[int, int]] | None:
    """Picture and mask in frame pixels, cut to the frame and to where the mask is not 0; their place."""
    if patch.origin is not None:
        x, y = patch.origin
        picture, mask = patch.image, patch.mask
        left, top = max(-x, 0), max(-y, 0)
        right, bottom = min(mask.shape[1], width - x), min(mask.shape[0], height - y)
        if right <= left or bottom <= top:
            return None
        picture, mask = picture[top:bottom, left:right], mask[top:bottom, left:right]
        place = (x + left, y + top)
    else:
        warped = _warped(patch, width, height)
        if warped is None:
            return None
        picture, mask, place = warped
    found = cv2.boundingRect(mask)
    if not found[2]:
        return None
    rows, columns = slice(found[1], found[1] + found[3]), slice(found[0], found[0] + found[2])
    return picture[rows, columns], mask[rows, columns], (place[0] + found[0], place[1] + found[1])


def _warped(patch: Patch, width: int, height: int) -> tuple[Image, Mask, tuple[int, int]] | None:
    """An affine patch resampled only over the box in the frame in which its mask is not 0."""
    left, top, across, down = cv2.boundingRect(patch.mask)
    if not across:
        return None
    right, bottom = left + across, top + down
    corners = np.array([[left, top], [right, top], [left, bottom], [right, bottom]], np.float64)
    corners += [[-1, -1], [0, -1], [-1, 0], [0, 0]]  # interpolation reaches one pixel further
    corners = corners @ patch.matrix[:, :2].T + patch.matrix[:, 2]
    x0, y0 = np.maximum(np.floor(corners.min(0)), 0).astype(int)
    x1, y1 = np.minimum(np.ceil(corners.max(0)) + 1, (width, height)).astype(int)
    if x0 >= x1 or y0 >= y1:
        return None
    matrix: NDArray[np.float64] = patch.matrix.copy()
    matrix[:, 2] -= (x0, y0)
    size = (int(x1 - x0), int(y1 - y0))
    picture = cv2.warpAffine(
        patch.image, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    mask = cv2.warpAffine(patch.mask, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
    return np.asarray(picture, np.uint8), np.asarray(mask, np.uint8), (int(x0), int(y0))
