"""Wrinkles and folds of the target, carried over as a ratio to its own usual face."""

from __future__ import annotations

import cv2
import numpy as np

from engine.swap.mesh.identity import TEXELS
from engine.swap.mesh.pixels import BGR_TO_LUMINANCE, blurred
from engine.swap.mesh.regions import Plane, regions, texel_weights
from engine.swap.mesh.sample import Sample

WARM_UP = 30
"""Frames over which the ratio comes in."""
LIPS = 0.9
"""How far the lips, which the landmarks follow less exactly, take part."""
MEMORY = 120
"""Frames over which the target's usual face is averaged."""


class Expression:
    """The target's mid-band luminance over its running mean, in the small atlas.

    A frown that is new to this face is a ratio below one along the fold and darkens the source there;
    what is always there is divided out. (Ratio images: Liu et al., SIGGRAPH 2001.)
    """

    def __init__(self) -> None:
        part, on_face = regions(TEXELS), texel_weights(TEXELS)[2]
        calm = (cv2.dilate(part.features, np.ones((3, 3))) == 0) & on_face
        calm_eroded = cv2.erode(calm.astype(np.uint8), np.ones((5, 5), np.uint8))
        self._where = np.maximum(blurred(calm_eroded.astype(np.float32), 1.5), LIPS * part.lips)
        self._mean: Plane | None = None
        self._ratio: Plane = np.ones((TEXELS, TEXELS), np.float32)
        self._frames = 0

    def update(self, sample: Sample) -> Plane:
        """The factor for this frame, float32 (TEXELS, TEXELS), near 1."""
        luminance = sample.colour @ BGR_TO_LUMINANCE
        seen = sample.seen
        slow = blurred(luminance * seen, 9) / (blurred(seen, 9) + 1e-3)
        band = (blurred(luminance, 1.0) + 4) / (slow + 4)
        band = 1 + (band - 1) * np.minimum(seen * 2, 1)
        self._frames += 1
        if self._mean is None:
            self._mean = band
        else:
            self._mean += (band - self._mean) * seen * max(1 / self._frames, 1 / MEMORY)
        strength = min(1.0, (self._frames - 1) / WARM_UP) * self._where * seen
        ratio = 1 + (np.clip((band + 0.05) / (self._mean + 0.05), 0.6, 1.4) - 1) * strength
        self._ratio += 0.6 * (ratio - self._ratio)
        return self._ratio
