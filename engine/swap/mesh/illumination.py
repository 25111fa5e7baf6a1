"""The light on the target, put onto the source's skin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.identity import BGR_TO_LUMINANCE, TEXELS, MeshIdentity
from engine.swap.mesh.pixels import blurred, shrunk, stretched
from engine.swap.mesh.regions import FACE_WIDTH, Plane
from engine.swap.mesh.sample import Sample, bare_skin

LUMINANCE_SIGMA = 0.14
"""Blur of the luminance ratio in face widths: wide, or the target's features shine through."""
CHROMA_SIGMA = 0.05
SMOOTHING = 0.35
"""Share of the newest frame in the gain."""
GAIN_RANGE = (0.2, 3.0)
CHROMA_RANGE = (0.55, 1.8)


class Illumination:
    """The gain (TEXELS, TEXELS, 3) by which the source's texture is multiplied, smoothed over time.

    It is the ratio of the blurred skin of target and source: the source's own slow light cancels, the
    target's takes its place. Brightness is compared broadly, colour more finely; brow hair takes part
    in neither and keeps most of its own tint and darkness.
    """

    def __init__(self, identity: MeshIdentity) -> None:
        self._tone = identity.tone
        self._skin = identity.skin * bare_skin()
        self._own_tint = identity.own_tint[..., None]
        self._gain: NDArray[np.float32] | None = None

    def reset(self) -> None:
        """Forget the past: the face jumped, or the light changed at a cut."""
        self._gain = None

    def update(self, sample: Sample) -> NDArray[np.float32]:
        """The gain for this frame, float32 (TEXELS, TEXELS, 3)."""
        weight = self._skin * sample.seen + 1e-4
        broad = self._ratio(sample.colour, weight, LUMINANCE_SIGMA)[0]
        fine, confidence = self._ratio(sample.colour, weight, CHROMA_SIGMA)
        luminance = (broad @ BGR_TO_LUMINANCE)[..., None]
        chroma = broad / luminance
        fine_chroma = fine / (fine @ BGR_TO_LUMINANCE)[..., None]
        chroma += (fine_chroma - chroma) * confidence[..., None]
        # Dark hair under a bright gain would turn grey, under a tinted one purple.
        chroma = np.clip(chroma, *CHROMA_RANGE) ** (1 - 0.8 * self._own_tint)
        luminance = luminance ** (1 - 0.45 * self._own_tint * (luminance > 1))
        gain = np.clip(luminance * chroma, *GAIN_RANGE).astype(np.float32)
        self._gain = gain if self._gain is None else self._gain + SMOOTHING * (gain - self._gain)
        return self._gain

    def _ratio(
        self, target: NDArray[np.float32], weight: Plane, sigma: float
    ) -> tuple[NDArray[np.float32], Plane]:
        """Blurred target over blurred source, and how much skin stood behind it."""
        stack = np.dstack([target * weight[..., None], self._tone * weight[..., None], weight])
        blurred = _gaussian(stack, sigma * FACE_WIDTH * TEXELS)
        mass = blurred[..., 6]
        floor = 3 * mass[..., None]
        ratio = (blurred[..., :3] + floor) / (blurred[..., 3:6] + floor)
        return ratio, np.clip(mass / 0.25, 0, 1)


def _gaussian(values: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """A Gaussian blur; wide ones at half the size."""
    if sigma < 4:
        return blurred(values, sigma)
    height, width = values.shape[:2]
    small = blurred(shrunk(values, width // 2, height // 2), sigma / 2)
    return stretched(small, width, height)
