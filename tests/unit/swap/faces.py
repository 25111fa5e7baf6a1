"""Synthetic faces: the canonical shape, posed and painted, so that no network is needed."""

from __future__ import annotations

import cv2
import numpy as np

from engine.identity.photo import PhotoQuality, SourcePhoto
from engine.track.topology import CANONICAL, LEFT_EYE, OVAL, RIGHT_EYE
from engine.types import Face, Image, Points


def landmarks(
    width: float = 200,
    centre: tuple[float, float] = (320, 240),
    yaw: float = 0,
    shape: np.ndarray = CANONICAL,
) -> Points:
    """Landmarks (478, 3) of a face `width` pixels wide that looks `yaw` degrees aside."""
    angle = np.radians(yaw)
    turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    points = shape @ turn.T * (width / np.ptp(CANONICAL[:, 0]))
    points[:, :2] += centre
    irises = [points[eye].mean(0) for eye in (RIGHT_EYE, LEFT_EYE) for _ in range(5)]
    return np.concatenate([points, irises]).astype(np.float32)


def picture(
    points: Points,
    size: tuple[int, int] = (640, 480),
    skin: tuple[int, int, int] = (120, 150, 200),
    seed: int = 0,
) -> Image:
    """A frame with noise for a background and an evenly coloured face on it."""
    image = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), np.uint8)
    image = np.asarray(cv2.GaussianBlur(image, (0, 0), 3), np.uint8)
    outline = cv2.convexHull(points[OVAL, :2]).reshape(-1, 2)
    centre = outline.mean(0)
    cv2.fillPoly(image, [np.round(centre + 1.05 * (outline - centre)).astype(np.int32)], skin)
    return image


def photo(
    skin: tuple[int, int, int] = (90, 110, 160), shape: np.ndarray = CANONICAL, yaw: float = 0
) -> SourcePhoto:
    points = landmarks(shape=shape, yaw=yaw)
    quality = PhotoQuality(200, yaw, 0, 0, 0.9, 0.9, 0.5)
    return SourcePhoto(picture(points, skin=skin), Face(0, points, 1.0), quality, "0" * 64)
