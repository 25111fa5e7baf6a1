"""The static part of a neural patch's mask: a feathered box in crop pixels."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np

from engine.types import Mask

INSET = 0.06
"""Margin in which the mask is 0, part of the crop's side: networks draw the border badly."""
FEATHER = 0.05
"""Standard deviation of the feather, part of the crop's side."""


@cache
def box_mask(size: int, inset: float = INSET, feather: float = FEATHER) -> Mask:
    """uint8, size×size: 255 in the middle, 0 at the border, smooth between; read only, made once."""
    mask = np.zeros((size, size), np.float32)
    edge = max(round(size * (inset + feather)), 1)
    mask[edge:-edge, edge:-edge] = 255
    blurred = cv2.GaussianBlur(mask, (0, 0), size * feather)
    blurred[[0, -1], :] = 0
    blurred[:, [0, -1]] = 0
    made = np.asarray(np.rint(blurred), np.uint8)
    made.setflags(write=False)
    return made
