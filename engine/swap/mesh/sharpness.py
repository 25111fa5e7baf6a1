"""How sharp the target's picture is, so that the source's texture is no sharper."""

from __future__ import annotations

import cv2
import numpy as np

from engine.swap.mesh.pixels import blurred
from engine.types import Image

SIDE = 144
"""Pixels of the square in the middle of the face that is looked at."""
SMOOTHING = 0.1
LARGEST_BLUR = 2.2
FALL = 1.0
"""A Gaussian of σ pixels lowers the finest octave by about exp(−FALL·σ²), its response at a quarter of
the sampling rate."""
ALLOWANCE = 0.15
"""How much more detail (natural logarithm) the texture may have: faces differ in it."""


class SharpnessMatch:
    """Finds the blur that leaves the texture no more of the finest detail than the target has.

    A picture out of focus, enlarged or denoised has lost its finest octave: crisp pores on it look
    pasted.
    """

    def __init__(self) -> None:
        self._difference: float | None = None

    def blur(self, target: Image, texture: Image) -> float:
        """The σ, pixels, of the Gaussian for `texture`; 0 = none. Both uint8, the same size, BGR."""
        difference = _detail(texture) - _detail(target) - ALLOWANCE
        if self._difference is None:
            self._difference = difference
        self._difference += SMOOTHING * (difference - self._difference)
        sigma = float(np.sqrt(max(self._difference, 0.0) / FALL))
        return min(sigma, LARGEST_BLUR) if sigma > 0.3 else 0.0


def _detail(picture: Image) -> float:
    """Logarithm of the finest octave's mean deviation, in the middle of the picture."""
    height, width = picture.shape[:2]
    top, left = max((height - SIDE) // 2, 0), max((width - SIDE) // 2, 0)
    crop = np.ascontiguousarray(picture[top : top + SIDE, left : left + SIDE])
    grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY).astype(np.float32)
    finest = float(np.abs(grey - blurred(grey, 0.7)).mean())
    return float(np.log(finest + 0.1))  # quantisation alone makes about this much
