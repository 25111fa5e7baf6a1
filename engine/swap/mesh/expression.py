"""Wrinkles and folds of the target, carried over as a ratio to its own usual face."""

from __future__ import annotations

import cv2
import numpy as np

from engine.swap.mesh.identity import TEXELS
from engine.swap.mesh.pixels import blurred, luminance, widely_blurred
from engine.swap.mesh.regions import Plane, regions
from engine.swap.mesh.sample import Sample

WARM_UP = 30
"""Frames over which the ratio comes in."""
LIPS = 0.9
"""How far the lips, which the landmarks follow less exactly, take part."""
BAND = (1.0, 9.0)
"""Gaussian σ, texels, between which a fold lies: wider than noise, narrower than the light."""
MEMORY = 120
"""Frames over which the target's usual face is averaged."""


class Expression:
    """The target's mid-band luminance over its running mean, in the small atlas.

    A frown that is new to this face is a ratio below one along the fold and darkens the source there;
    what is always there is divided out. (Ratio images: Liu et al., SIGGRAPH 2001.)
    """

    def __init__(self) -> None:
        part = regions(TEXELS)
        calm = (cv2.dilate(part.features, np.ones((3, 3))) == 0) & (part.face > 0)
        calm_eroded = cv2.erode(calm.astype(np.uint8), np.ones((5, 5), np.uint8))
        self._where = np.maximum(blurred(calm_eroded.astype(np.float32), 1.5), LIPS * part.lips)
        self._mean: Plane | None = None
        self._ratio: Plane = np.ones((TEXELS, TEXELS), np.float32)
        self._frames = 0

    def update(self, sample: Sample) -> Plane:
        """The factor for this frame, float32 (TEXELS, TEXELS), near 1."""
        light, seen = luminance(sample.colour), sample.seen
        broad = widely_blurred(np.dstack([light * seen, seen]), BAND[1])
        slow = broad[..., 0] / (broad[..., 1] + 1e-3)
        band = (blurred(light, BAND[0]) + 4) / (slow + 4)
        band = np.asarray(1 + (band - 1) * np.minimum(seen * 2, 1), np.float32)
        self._frames += 1
        share = np.float32(max(1 / self._frames, 1 / MEMORY)) * seen
        mean = band if self._mean is None else self._mean + share * (band - self._mean)
        self._mean = np.asarray(mean, np.float32)
        strength = min(1.0, (self._frames - 1) / WARM_UP) * self._where * seen
        ratio = 1 + (np.clip((band + 0.05) / (mean + 0.05), 0.6, 1.4) - 1) * strength
        self._ratio += 0.6 * (ratio - self._ratio)
        return self._ratio
