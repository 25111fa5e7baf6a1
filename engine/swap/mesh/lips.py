"""Lips of a dark face on a pale one: made as bright as the skin they would turn pink."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.identity import TEXELS
from engine.swap.mesh.pixels import luminance
from engine.swap.mesh.regions import Plane, regions
from engine.swap.mesh.sample import Sample

SMOOTHING = 0.1
SHARE = 3.0
"""How much of the lips' colour comes from the target, times the part of their light that the source's photo
lacks: all of it where the skin is made half as bright again, none where it is made darker."""
SEEN = 0.1
"""Share of the lips that must be seen for their colour to count."""


class Lips:
    """Draws the lips towards the colour of the target's, as far as the gain brightens them.

    Args:
        tone: float32 (n, n, 3), the source's colours in a small atlas.
    """

    def __init__(self, tone: NDArray[np.float32]) -> None:
        part = regions(tone.shape[0])
        self._tone, self._where = tone, part.lips[..., None]
        luma = luminance(tone)
        usual = float((luma * part.lips).sum() / part.lips.sum())
        # The root: of a lip that shines under the light of its photo only half is kept.
        self._relief = np.sqrt(luma / (usual + 1))[..., None]
        fine = regions(TEXELS)
        self._rim: Plane = fine.lips * (1 - fine.mouth)
        self._colour: NDArray[np.float32] | None = None

    def update(self, sample: Sample) -> None:
        """Take in the target's lips as they are in this frame."""
        weight = self._rim * sample.seen
        total = float(weight.sum())
        if total < SEEN * float(self._rim.sum()):
            return
        colour = weight.ravel() @ sample.colour.reshape(-1, 3) / np.float32(total)
        if self._colour is not None:
            colour = self._colour + np.float32(SMOOTHING) * (colour - self._colour)
        self._colour = np.asarray(colour, np.float32)

    def matched(self, gain: NDArray[np.float32], brighter: NDArray[np.float32]) -> NDArray[np.float32]:
        """The gain (n, n, 3) with that of the lips adapted.

        Args:
            gain: of the source's colours.
            brighter: (n, n, 1), part of the lips' light that the photo lacks: 1 − 1 / the skin's gain, or 0.
        """
        if self._colour is None:
            return gain
        share = np.minimum(SHARE * brighter, 1) * self._where
        change = self._colour * self._relief - self._tone * gain
        return np.asarray(gain + share * change / (self._tone + 4), np.float32)
