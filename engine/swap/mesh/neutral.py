"""The target's neutral shape, learnt while the face is followed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.shape import Shape
from engine.track.pose import fit
from engine.track.topology import SURFACE
from engine.types import Points

MEMORY = 300.0
"""Weight of the past at most, frames: the shape settles in the first second and then hardly moves."""


class NeutralShape:
    """Running mean of the face with pose taken out; frames that look into the camera count more."""

    def __init__(self) -> None:
        self._mean: Shape | None = None
        self._weight = 0.0

    def update(self, shape: Shape, rotation: NDArray[np.float64]) -> Shape:
        """Take in this frame's `shape` (468, 3) seen under `rotation` (3, 3); the mean so far."""
        weight = float(np.clip((rotation[2, 2] - 0.6) / 0.35, 0.05, 1))
        self._weight = min(self._weight, MEMORY) + weight
        if self._mean is None:
            self._mean = shape.copy()
        else:
            self._mean += (shape - self._mean) * (weight / self._weight)
        return self._mean


def in_canonical_pose(landmarks: Points) -> Shape:
    """The surface landmarks (468, 3) with pose and size taken out, centimetres."""
    scale, rotation, shift = fit(landmarks)
    return np.asarray((landmarks[:SURFACE] - shift) @ rotation / scale)
