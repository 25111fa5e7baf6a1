"""Making a picture fit a size that it does not have."""

from __future__ import annotations

from typing import Literal

import cv2
import numpy as np

from engine.types import Image

Fit = Literal["letterbox", "crop"]
"""letterbox: everything is seen, with black bars; crop: no bars, the longer side loses its ends."""


def fit_into(image: Image, target: Image, fit: Fit = "letterbox") -> None:
    """Fill `target` with `image`, scaled evenly and centred.

    Args:
        image: uint8, H×W×3.
        target: uint8, h×w×3, written completely.
        fit: see `Fit`.
    """
    (h, w), (height, width) = image.shape[:2], target.shape[:2]
    if (h, w) == (height, width):
        np.copyto(target, image)
        return
    scales = width / w, height / h
    if fit == "crop":
        scale = max(scales)
        cw, ch = min(w, max(1, round(width / scale))), min(h, max(1, round(height / scale)))
        x, y = (w - cw) // 2, (h - ch) // 2
        image, inner = image[y : y + ch, x : x + cw], target
    else:
        scale = min(scales)
        iw, ih = max(1, round(w * scale)), max(1, round(h * scale))
        x, y = (width - iw) // 2, (height - ih) // 2
        inner = target[y : y + ih, x : x + iw]
        for bar in (target[:y], target[y + ih :], target[y : y + ih, :x], target[y : y + ih, x + iw :]):
            bar[:] = 0
    # Area averaging is the sharpest without moiré when shrinking (OpenCV's documentation of `resize`).
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    cv2.resize(image, (inner.shape[1], inner.shape[0]), dst=inner, interpolation=method)
