"""How sharp the target's picture is, so that the source's texture is no sharper."""

from __future__ import annotations

import cv2
import numpy as np

from engine.swap.mesh.identity import MeshIdentity, level_for
from engine.swap.mesh.pixels import blurred
from engine.swap.mesh.regions import FACE_WIDTH
from engine.types import Image

SIDE = 112
"""Pixels of the square in the middle of the face that is looked at."""
SMOOTHING = 0.1
STEP = 0.125
"""Change of σ, texels, that is not worth a new blur: it takes 5 % of the finest octave at σ = 0.4."""
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

    def blur(self, target: Image, skin: Image) -> float:
        """The σ, frame pixels, of the Gaussian for the source's skin; 0 = none.

        Args:
            target, skin: the same pixels of the frame and of the skin as it is; uint8, BGR.
        """
        difference = _detail(skin) - _detail(target) - ALLOWANCE
        if self._difference is None:
            self._difference = difference
        self._difference += SMOOTHING * (difference - self._difference)
        sigma = float(np.sqrt(max(self._difference, 0.0) / FALL))
        return min(sigma, LARGEST_BLUR) if sigma > 0.3 else 0.0


class Textures:
    """The source's texture in the size that a face needs, as sharp as wanted."""

    def __init__(self, identity: MeshIdentity) -> None:
        self._identity = identity
        self._softened: tuple[int, float, Image] | None = None

    def sharp(self, width: float) -> Image:
        """The texture for a face of `width` pixels, uint8 (n, n, 3), BGR."""
        return self._identity.textures[level_for(self._identity, width)]

    def softened(self, width: float, sigma: float) -> Image:
        """The same blurred by `sigma` frame pixels; blurred anew only when that changes, in steps."""
        texture, level = self.sharp(width), level_for(self._identity, width)
        sigma *= FACE_WIDTH * texture.shape[0] / width
        last = self._softened
        if last is None or last[0] != level or abs(last[1] - sigma) > STEP:
            last = (level, sigma, blurred(texture, sigma) if sigma else texture)
            self._softened = last
        return last[2]


def middle(shape: tuple[int, ...]) -> tuple[slice, slice]:
    """The square of at most `SIDE` pixels in the middle of a picture (h, w, …)."""
    top, left = (max((side - SIDE) // 2, 0) for side in shape[:2])
    return slice(top, top + SIDE), slice(left, left + SIDE)


def _detail(picture: Image) -> float:
    """Logarithm of the finest octave's mean deviation."""
    grey = np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), np.float32)
    finest = cv2.norm(grey, blurred(grey, 0.7), cv2.NORM_L1) / grey.size
    return float(np.log(finest + 0.1))  # quantisation alone makes about this much
