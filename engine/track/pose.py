"""Head pose: the canonical face laid over the landmarks."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.track.topology import CANONICAL, RIGID, RIGID_WEIGHTS
from engine.types import Points

Floats = NDArray[np.float64]

_WEIGHTS = RIGID_WEIGHTS / RIGID_WEIGHTS.sum()
_MODEL_MEAN = _WEIGHTS @ CANONICAL[RIGID]
_MODEL = CANONICAL[RIGID] - _MODEL_MEAN
_MODEL_VARIANCE = float(_WEIGHTS @ (_MODEL * _MODEL).sum(1))


class Pose(NamedTuple):
    """Where a head looks, degrees; all 0 = straight into the camera.

    Attributes:
        yaw: positive = the nose points to the picture's right.
        pitch: positive = looks down.
        roll: positive = tilted clockwise on the screen.
    """

    yaw: float
    pitch: float
    roll: float


def fit(landmarks: Points) -> tuple[float, Floats, Floats]:
    """Similarity from the canonical face to the landmarks, weighted least squares.

    S. Umeyama, "Least-squares estimation of transformation parameters between two point patterns",
    PAMI 1991, on the 33 landmarks and weights of MediaPipe's face geometry.

    Args:
        landmarks: (468 or 478, 3), frame pixels.

    Returns:
        scale (pixels per cm), R (3, 3) and t (3,) so that
        `landmarks ≈ scale * CANONICAL @ R.T + t`, axes as in the picture.
    """
    points = landmarks[RIGID].astype(np.float64)
    mean = _WEIGHTS @ points
    # OpenCV's calls cost a fifth of NumPy's, and this is done several times a frame.
    s, u, vt = cv2.SVDecomp((_WEIGHTS[:, None] * (points - mean)).T @ _MODEL)
    rotation = np.asarray(u @ vt, np.float64)
    if cv2.determinant(rotation) < 0:  # a mirror image fits best: the nearest rotation instead
        s[2] = -s[2]
        rotation -= 2 * np.outer(u[:, 2], vt[2])
    scale = float(s.sum()) / _MODEL_VARIANCE
    return scale, rotation, mean - scale * rotation @ _MODEL_MEAN


def angles(rotation: Floats) -> Pose:
    """Yaw, pitch and roll of a rotation in picture axes, applied in the order pitch, yaw, roll."""
    yaw = np.arcsin(np.clip(rotation[2, 0], -1, 1))
    pitch = np.arctan2(rotation[2, 1], rotation[2, 2])
    roll = np.arctan2(rotation[1, 0], rotation[0, 0])
    return Pose(*(float(v) for v in np.degrees([yaw, pitch, roll])))


def head_pose(landmarks: Points) -> Pose:
    """Where the head looks, from its landmarks (468 or 478, 3) in frame pixels."""
    return angles(fit(landmarks)[1])
