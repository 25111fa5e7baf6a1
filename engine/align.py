"""Alignment: the similarity that brings a face's five points onto a network's template.

Templates as the networks' publishers use them (InsightFace, MIT; FFHQ's alignment; figures in DESIGN
section 5), stored relative to the crop's side. Points are in the order of InsightFace's key points:
right eye, left eye, nose tip, right and left corner of the mouth, the person's own right being on
the left of the picture.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.types import Matrix, Points

_ARCFACE_112 = np.array(
    [
        [38.2946, 51.6963],
        [73.5318, 51.5014],
        [56.0252, 71.7366],
        [41.5493, 92.3655],
        [70.7299, 92.2041],
    ]
)

TEMPLATES: dict[str, NDArray[np.float64]] = {
    # 112 → 128 adds eight pixels on each side and 16 below: x + 8, y as it is.
    "arcface": (_ARCFACE_112 + np.array([8.0, 0.0])) / 128,
    "arcface_112": _ARCFACE_112 / 112,
    "arcface_112_v1": np.array(
        [
            [0.35473214, 0.45658929],
            [0.64526786, 0.45658929],
            [0.50000000, 0.61154464],
            [0.37913393, 0.77687500],
            [0.62086607, 0.77687500],
        ]
    ),
    "ffhq_512": np.array(
        [
            [0.37691676, 0.46864664],
            [0.62285697, 0.46912813],
            [0.50123859, 0.61331904],
            [0.39308822, 0.72541100],
            [0.61150205, 0.72490465],
        ]
    ),
    "mtcnn_512": np.array(
        [
            [0.36562865, 0.46733799],
            [0.63305391, 0.46585885],
            [0.50019127, 0.61942959],
            [0.39032951, 0.77598822],
            [0.61178945, 0.77476328],
        ]
    ),
}

_FIVE = [468, 473, 4, 61, 291]
"""Irises, tip of the nose, corners of the mouth among FaceMesh's landmarks."""


def five_points(landmarks: Points) -> Points:
    """The five points among the 478 FaceMesh landmarks, float32 (5, 2), frame pixels."""
    return np.ascontiguousarray(landmarks[_FIVE, :2], np.float32)


def landmarks_at(points: Points) -> Points:
    """Landmarks, float32 (478, 3), of which only the five points are known; the inverse of `five_points`."""
    landmarks = np.zeros((478, 3), np.float32)
    landmarks[_FIVE, :2] = points
    return landmarks


def target_points(template: str, size: int) -> NDArray[np.float64]:
    """The template's points in a crop of `size` pixels, float64 (5, 2)."""
    if template == "arcface" and size % 128:
        template = "arcface_112"
    return TEMPLATES[template] * size


def similarity(source: NDArray[np.floating], target: NDArray[np.floating]) -> Matrix:
    """The least-squares similarity that maps `source` points onto `target` (Umeyama 1991).

    Args:
        source, target: (N, 2), N ≥ 2, not all equal.

    Returns:
        float64, 2×3.
    """
    a = source.astype(np.float64)
    b = target.astype(np.float64)
    mean_a, mean_b = a.mean(0), b.mean(0)
    a -= mean_a
    b = b - mean_b
    # In the plane the rotation and scale have a closed form: one complex factor b ≈ z·a.
    za, zb = a[:, 0] + 1j * a[:, 1], b[:, 0] + 1j * b[:, 1]
    z = (np.conj(za) @ zb) / (np.conj(za) @ za).real
    linear = np.array([[z.real, -z.imag], [z.imag, z.real]])
    return np.column_stack([linear, mean_b - linear @ mean_a])


def alignment(points: Points, template: str, size: int) -> Matrix:
    """The 2×3 matrix from frame pixels to the pixels of a `size`×`size` crop."""
    return similarity(points, target_points(template, size))
