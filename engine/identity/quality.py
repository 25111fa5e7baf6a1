"""Measures what a photo is worth as a source: pose, sharpness and light of one face."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.track.pose import Pose, head_pose
from engine.track.topology import (
    LEFT_BROW,
    LEFT_EYE,
    LIPS_OUTER,
    RIGHT_BROW,
    RIGHT_EYE,
    SKIN_TRIANGLES,
    SURFACE,
    UV,
)
from engine.types import Face, Image, Points

SHARPNESS_WIDTH = 256
"""Face width at which sharpness is judged, pixels: about what a swapped face in a 720p frame has."""

_SHARES = (0.17, 0.57)
"""Shares of detail that a blur removes from a blurred and from a sharp portrait, measured on photos."""

_FEATURES = np.concatenate([LEFT_BROW, LEFT_EYE, LIPS_OUTER, RIGHT_BROW, RIGHT_EYE])
_SKIN = SKIN_TRIANGLES[~np.isin(SKIN_TRIANGLES, _FEATURES).any(1)]
_U = UV[_SKIN, 0].mean(1)


@dataclass(frozen=True, slots=True)
class Measures:
    """Plain figures of one face; `engine.identity.verdict` says what they mean.

    Attributes:
        width: of the upright face, pixels of the original photo.
        pose: yaw, pitch, roll, degrees.
        sharpness: 0..1, 1 = as sharp as the resolution allows.
        evenness: 0..1, mean luminance of the darker half of the skin over that of the brighter.
        brightness: 0..1, median luminance of the skin.
        highlight: 0..1, luminance that 2 % of the face exceed: glints on the skin, whites of the
            eyes, teeth. It falls with the exposure and hardly with the colour of the skin.
    """

    width: float
    pose: Pose
    sharpness: float
    evenness: float
    brightness: float
    highlight: float


def measure(image: Image, face: Face, scale: float = 1.0) -> Measures:
    """Measure one face, however it lies in the picture.

    Args:
        image: uint8, H×W×3, BGR, at least 3×3 pixels.
        face: in pixels of `image`.
        scale: size of `image` over that of the original photo.
    """
    pose = head_pose(face.landmarks)
    grey, points = _grey_face(image, face)
    luminance = _narrowed(grey)
    skin = _skin_luminance(grey, points)
    right, left = float(skin[_U < 0.5].mean()), float(skin[_U > 0.5].mean())
    return Measures(
        upright_width(face, pose.roll) / scale,
        pose,
        sharpness(luminance),
        (min(left, right) + 1) / (max(left, right) + 1),
        float(np.median(skin)) / 255,
        float(np.percentile(luminance, 98)) / 255,
    )


def upright_width(face: Face, roll: float) -> float:
    """Width of the face along its own horizontal, pixels."""
    angle = np.radians(roll)
    across = face.landmarks[:SURFACE, :2] @ np.array([np.cos(angle), np.sin(angle)])
    return float(np.ptp(across))


def sharpness(luminance: NDArray[np.uint8]) -> float:
    """How sharp a picture is for its number of pixels, 0..1.

    The share of detail that a small blur removes: little, if the picture was blurred already.
    F. Crété-Roffet et al., "The blur effect: perception and estimation with a new no-reference
    perceptual blur metric", SPIE 6492, 2007; the worse of both directions. The share is stretched
    so that 0 is what a blur of 3 % of the face's width leaves and 1 what good portraits have.
    """
    picture = luminance.astype(np.float32)
    shares = []
    for axis, size in ((0, (1, 11)), (1, (11, 1))):
        detail = np.abs(np.diff(picture, axis=axis))
        kept = np.abs(np.diff(cv2.blur(picture, size), axis=axis))
        shares.append(float(np.maximum(0, detail - kept).sum()) / max(float(detail.sum()), 1e-6))
    low, high = _SHARES
    return float(np.clip((min(shares) - low) / (high - low), 0, 1))


def _grey_face(image: Image, face: Face) -> tuple[NDArray[np.uint8], Points]:
    """The part of the face's box that lies in the picture, grey, and the landmarks (n, 2) in it."""
    x0, y0, x1, y1 = face.box
    height, width = image.shape[:2]
    left, right = int(np.clip(x0, 0, width - 2)), int(np.clip(x1 + 1, 2, width))
    top, bottom = int(np.clip(y0, 0, height - 2)), int(np.clip(y1 + 1, 2, height))
    grey = cv2.cvtColor(image[top:bottom, left:right], cv2.COLOR_BGR2GRAY)
    return np.asarray(grey, np.uint8), face.landmarks[:, :2] - np.array([left, top], np.float32)


def _narrowed(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """At most `SHARPNESS_WIDTH` wide."""
    zoom = SHARPNESS_WIDTH / grey.shape[1]
    if zoom >= 1:
        return grey
    return np.asarray(cv2.resize(grey, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_AREA), np.uint8)


def _skin_luminance(grey: NDArray[np.uint8], points: Points) -> NDArray[np.float32]:
    """Luminance at the middle of each skin triangle, 0..255, without brows, eyes and lips."""
    height, width = grey.shape
    smooth = cv2.GaussianBlur(grey, (0, 0), max(0.02 * width, 0.5))
    x, y = points[_SKIN].mean(1).round().astype(int).T
    return np.asarray(smooth[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)], np.float32)
