"""The light on the target, put onto the source's skin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.identity import TEXELS, MeshIdentity
from engine.swap.mesh.pixels import BGR_TO_LUMINANCE, blurred, shrunk, stretched
from engine.swap.mesh.regions import FACE_WIDTH, Plane
from engine.swap.mesh.sample import Sample, bare_skin
from engine.swap.mesh.shape import smoothstep

LUMINANCE_SIGMA = 0.18
"""Blur of the luminance ratio in face widths: wide, or the target's features shine through."""
CHROMA_SIGMA = 0.07
SLOWEST, FASTEST = 0.12, 0.5
"""Share of the newest frame in the gain: while the light rests, and while it changes."""
REST, CHANGE = 0.01, 0.06
"""Mean relative difference between new and old gain that counts as rest, and as change."""
SURPRISE = 0.25
"""Deviation from the expected luminance (natural logarithm) that halves a texel's say in the gain."""
GAIN_RANGE = (0.2, 3.0)
CHROMA_RANGE = (0.55, 1.8)
CONTRAST_RANGE, CONTRAST_SHARE, CONTRAST_SMOOTHING = (0.4, 2.0), 0.25, 0.05
"""The target's contrast over the source's, how much of it is taken over, and how fast."""


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
        self._exponent = 1.0

    def reset(self) -> None:
        """Forget the past: the face jumped, or the light changed at a cut."""
        self._gain = None

    def update(self, sample: Sample) -> NDArray[np.float32]:
        """The gain for this frame, float32 (TEXELS, TEXELS, 3)."""
        weight = self._skin * sample.seen + 1e-4
        weight = self._trusted(sample, weight)
        broad = self._ratio(sample.colour, weight, LUMINANCE_SIGMA)[0]
        fine, confidence = self._ratio(sample.colour, weight, CHROMA_SIGMA)
        luminance = (broad @ BGR_TO_LUMINANCE)[..., None]
        chroma = broad / luminance
        fine_chroma = fine / (fine @ BGR_TO_LUMINANCE)[..., None]
        chroma += (fine_chroma - chroma) * confidence[..., None]
        chroma = np.clip(chroma, *CHROMA_RANGE)
        # Dark hair under a bright gain would turn grey, under a bluish one purple; warm light suits it.
        bluish = smoothstep(np.log(chroma[..., :1] / chroma[..., 2:]), -0.1, 0.15)
        chroma = chroma ** (1 - self._own_tint * (0.15 + 0.65 * bluish))
        luminance = luminance ** (1 - 0.45 * self._own_tint * (luminance > 1))
        gain = np.clip(luminance * chroma, *GAIN_RANGE) * self._contrast(sample, weight)[..., None]
        gain = gain.astype(np.float32)
        if self._gain is None:
            self._gain = gain
        else:
            difference = np.abs(gain - self._gain).mean(2) / self._gain.mean(2)
            moved = float((difference * weight).sum() / weight.sum())
            pace = SLOWEST + (FASTEST - SLOWEST) * min(max((moved - REST) / (CHANGE - REST), 0.0), 1.0)
            self._gain = self._gain + np.float32(pace) * (gain - self._gain)
        return self._gain

    def _trusted(self, sample: Sample, weight: Plane) -> Plane:
        """`weight`, less where the target is no bare skin: rims and their shadows, hair, a hand."""
        target, source = sample.colour @ BGR_TO_LUMINANCE, self._tone @ BGR_TO_LUMINANCE
        sigma = LUMINANCE_SIGMA * FACE_WIDTH * TEXELS
        broad = _gaussian(np.dstack([target * weight, source * weight]), sigma)
        expected = source * (broad[..., 0] + 1e-4) / (broad[..., 1] + 1e-4)
        surprise = np.log((target + 6) / (expected + 6)) / SURPRISE
        return np.asarray(weight / (1 + surprise * surprise), np.float32)

    def _contrast(self, sample: Sample, weight: Plane) -> Plane:
        """The factor that brings the source's relief to about the contrast that the target's has.

        Dark skin in hard light has far more of it than pale skin in soft light; without this, dark
        targets look flat and pale ones blotched.
        """
        target = _relief(sample.colour @ BGR_TO_LUMINANCE, weight)
        source = _relief(self._tone @ BGR_TO_LUMINANCE, weight)
        of_target = float(np.sqrt((weight * target * target).sum() / weight.sum()))
        of_source = float(np.sqrt((weight * source * source).sum() / weight.sum()))
        exponent = float(np.clip((of_target + 0.01) / (of_source + 0.01), *CONTRAST_RANGE)) ** CONTRAST_SHARE
        self._exponent += (exponent - self._exponent) * (1 if self._gain is None else CONTRAST_SMOOTHING)
        calm = 1 - self._own_tint[..., 0]
        return np.asarray(np.exp(np.clip(source, -0.9, 0.6) * (self._exponent - 1) * calm), np.float32)

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


def _relief(luminance: Plane, weight: Plane) -> Plane:
    """Logarithm of the luminance over its broad mean."""
    both = _gaussian(np.dstack([luminance * weight, weight]), LUMINANCE_SIGMA * FACE_WIDTH * TEXELS)
    return np.asarray(np.log((luminance + 4) / (both[..., 0] / (both[..., 1] + 1e-5) + 4)), np.float32)


def _gaussian(values: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """A Gaussian blur; wide ones at half the size."""
    if sigma < 4:
        return blurred(values, sigma)
    height, width = values.shape[:2]
    small = blurred(shrunk(values, width // 2, height // 2), sigma / 2)
    return stretched(small, width, height)
