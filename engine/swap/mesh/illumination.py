"""The light on the target, put onto the source's skin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.identity import TEXELS, MeshIdentity
from engine.swap.mesh.lips import Lips
from engine.swap.mesh.pixels import luminance, shrunk, stretched, widely_blurred
from engine.swap.mesh.regions import FACE_WIDTH, Plane
from engine.swap.mesh.sample import Sample, bare_skin
from engine.swap.mesh.shape import smoothstep

GRID = TEXELS // 2
"""Side of the atlas in which light is compared, texels: it is smooth."""
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
LEAST = 1e-4
"""Say of a texel that shows no skin."""
BLUISH = (-0.1, 0.15)
"""Blue less red of the light's tint, from which on hair keeps its own."""
RELIEF_RANGE = (-0.9, 0.6)
CONTRAST_RANGE, CONTRAST_SHARE, CONTRAST_SMOOTHING = (0.4, 2.0), 0.25, 0.05
"""The target's contrast over the source's, how much of it is taken over, and how fast."""


class Illumination:
    """The gain (TEXELS, TEXELS, 3) by which the source's texture is multiplied, smoothed over time.

    It is the ratio of the blurred skin of target and source: the source's own slow light cancels, the
    target's takes its place. Brightness is compared broadly, colour more finely; brow hair takes part
    in neither and keeps most of its own tint and darkness.
    """

    def __init__(self, identity: MeshIdentity) -> None:
        skin = identity.skin * bare_skin()
        self._tone, self._skin = shrunk(identity.tone, GRID, GRID), shrunk(skin, GRID, GRID)
        self._luma = luminance(self._tone)
        self._own_tint = shrunk(identity.own_tint, GRID, GRID)[..., None]
        self._lips = Lips(self._tone)
        shown = np.dstack([identity.tone * (skin + LEAST)[..., None], skin + LEAST])
        broad = _over_face(shown, LUMINANCE_SIGMA)
        relief = _relief(luminance(identity.tone), broad[..., :3], broad[..., 3:])
        self._own_relief = np.clip(relief, *RELIEF_RANGE) * (1 - identity.own_tint)
        self._gain: NDArray[np.float32] | None = None
        self._exponent = 1.0

    def reset(self) -> None:
        """Forget the past: the face jumped, or the light changed at a cut."""
        self._gain = None

    def update(self, sample: Sample) -> NDArray[np.float32]:
        """The gain for this frame, float32 (TEXELS, TEXELS, 3)."""
        colour = shrunk(sample.colour, GRID, GRID)
        luma = luminance(colour)
        weight = self._trusted(luma, self._skin * shrunk(sample.seen, GRID, GRID) + LEAST)
        shade = weight[..., None]
        skins = np.concatenate([colour * shade, self._tone * shade, shade], 2)
        broad, fine = (_over_face(skins, sigma) for sigma in (LUMINANCE_SIGMA, CHROMA_SIGMA))
        contrast = self._contrast(luma, weight, broad)
        gain = _compared(broad, fine)
        if self._gain is not None:
            difference = np.abs(gain - self._gain).mean(2) / self._gain.mean(2)
            moved = float((difference * weight).sum() / weight.sum())
            pace = SLOWEST + (FASTEST - SLOWEST) * min(max((moved - REST) / (CHANGE - REST), 0.0), 1.0)
            gain = self._gain + np.float32(pace) * (gain - self._gain)
        self._gain = gain
        self._lips.update(sample)
        return stretched(self._tinted(gain), TEXELS, TEXELS) * contrast[..., None]

    def _tinted(self, gain: NDArray[np.float32]) -> NDArray[np.float32]:
        """`gain` without what does not suit hair, eyes and lips: dark hair under a bright one would turn
        grey, under a bluish one purple; warm light suits it."""
        light = luminance(gain)[..., None]
        chroma = gain / light
        bluish = smoothstep(chroma[..., :1] - chroma[..., 2:], *BLUISH)
        chroma += (1 - chroma) * self._own_tint * (0.15 + 0.65 * bluish)
        brighter = np.asarray(1 - 1 / np.maximum(light, 1), np.float32)
        light -= 0.45 * self._own_tint * np.maximum(light - 1, 0)
        return self._lips.matched(light * chroma, brighter)

    def _trusted(self, luma: Plane, weight: Plane) -> Plane:
        """`weight`, less where the target is no bare skin: rims and their shadows, hair, a hand."""
        broad = _over_face(np.dstack([luma * weight, self._luma * weight]), LUMINANCE_SIGMA)
        expected = self._luma * (broad[..., 0] + 1e-4) / (broad[..., 1] + 1e-4)
        surprise = np.log((luma + 6) / (expected + 6)) / SURPRISE
        return np.asarray(weight / (1 + surprise * surprise), np.float32)

    def _contrast(self, luma: Plane, weight: Plane, broad: NDArray[np.float32]) -> Plane:
        """The factor (TEXELS, TEXELS) that brings the source's relief to about the target's contrast.

        Dark skin in hard light has far more of it than pale skin in soft light; without this, dark
        targets look flat and pale ones blotched.
        """
        target = _deviation(_relief(luma, broad[..., :3], broad[..., 6:]), weight)
        source = _deviation(_relief(self._luma, broad[..., 3:6], broad[..., 6:]), weight)
        exponent = float(np.clip((target + 0.01) / (source + 0.01), *CONTRAST_RANGE)) ** CONTRAST_SHARE
        self._exponent += (exponent - self._exponent) * (1 if self._gain is None else CONTRAST_SMOOTHING)
        return np.asarray(np.exp(self._own_relief * np.float32(self._exponent - 1)), np.float32)


def _compared(broad: NDArray[np.float32], fine: NDArray[np.float32]) -> NDArray[np.float32]:
    """The light on the target over that on the source, (GRID, GRID, 3): its brightness broadly, its
    tint finely where enough skin stands behind it.

    Args:
        broad, fine: (GRID, GRID, 7), blurred: target, source, both weighted by skin, and its weight.
    """
    light = luminance(_ratio(broad))[..., None]
    chroma = _ratio(broad) / light
    close = _ratio(fine)
    confidence = np.minimum(fine[..., 6:] / 0.25, 1)
    chroma += (close / luminance(close)[..., None] - chroma) * confidence
    return np.asarray(np.clip(light * np.clip(chroma, *CHROMA_RANGE), *GAIN_RANGE), np.float32)


def _ratio(skins: NDArray[np.float32]) -> NDArray[np.float32]:
    floor = 3 * skins[..., 6:]
    return (skins[..., :3] + floor) / (skins[..., 3:6] + floor)


def _relief(luma: Plane, broad: NDArray[np.float32], mass: NDArray[np.float32]) -> Plane:
    """Logarithm of the luminance over its broad mean, which is `broad` (…, 3) over `mass` (…, 1)."""
    around = luminance(np.ascontiguousarray(broad)) / (mass[..., 0] + 1e-5)
    return np.asarray(np.log((luma + 4) / (around + 4)), np.float32)


def _deviation(values: Plane, weight: Plane) -> float:
    """Weighted root mean square."""
    return float(np.sqrt((weight * values * values).sum() / weight.sum()))


def _over_face(values: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """A Gaussian blur of an atlas, σ in face widths."""
    return widely_blurred(values, sigma * FACE_WIDTH * values.shape[0])
