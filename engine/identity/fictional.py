"""A person who does not exist, made from the built-in portrait.

The demo camera shows the portrait's own face, so a demo that swapped that same face in would show
nothing. The shape is moved at a few landmarks (a thin-plate spline, Bookstein 1989), the skin, brows
and lips are toned in CIELAB, and fine noise gives back the texture that enlarging took.
Deterministic: the same portrait gives the same person.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RBFInterpolator

from engine.identity.photo import SourcePhoto
from engine.track.detector import Detector
from engine.track.landmarks import Landmarker
from engine.track.stills import find_faces
from engine.track.topology import (
    LEFT_BROW,
    LEFT_EYE,
    LIPS_INNER,
    LIPS_OUTER,
    OVAL,
    RIGHT_BROW,
    RIGHT_EYE,
    SURFACE,
)
from engine.types import Image, Points

Floats = NDArray[np.float32]

_ENLARGE = 3
_CELL = 16
"""The spline is evaluated on every n-th pixel."""
_MASK_STEP = 4
"""Masks are soft: they are drawn and blurred on every n-th pixel."""
_NOISE_SEED = 20

_JAW = (172, 136, 150, 397, 365, 379, 58, 288, 132, 361)
_CHIN = (152, 148, 377, 176, 400)
_NOSTRILS = (129, 358, 64, 294, 98, 327, 48, 278)
_NOSE_TIP = (1, 4, 5, 19, 94)
_MOUTH_CORNERS = (61, 291, 78, 308)
_UPPER_LIDS = (160, 159, 158, 387, 386, 385)
_LIPS = (*LIPS_OUTER, *LIPS_INNER)
_FIXED = (10, 338, 109, 234, 454, 127, 356, 168, 6)
_STUBBLE = (
    132, 58, 172, 136, 150, 149, 176, 148, 152, 377, 400, 378, 379, 365, 397, 288, 361, 435, 416, 434, 432,
    287, 410, 322, 391, 327, 326, 2, 97, 98, 165, 92, 186, 57, 212, 214, 192, 215,
)  # fmt: skip

_MOVES: tuple[tuple[Iterable[int], float, float], ...] = (
    (_JAW, 0.05, 0.015),
    (_CHIN, 0.0, 0.045),
    (_NOSTRILS, 0.028, 0.02),
    (_NOSE_TIP, 0.0, 0.03),
    ((*LEFT_BROW, *RIGHT_BROW), -0.006, 0.024),
    ((*LEFT_EYE, *RIGHT_EYE), -0.016, 0.0),
    (_UPPER_LIDS, 0.0, 0.008),
    (_MOUTH_CORNERS, -0.03, 0.03),
    (_LIPS, 0.0, 0.02),
)
"""Landmarks, and how far they move outwards and down, in face widths."""


def fictional(photo: SourcePhoto, detector: Detector, landmarker: Landmarker) -> SourcePhoto:
    """Another person from `photo`, with a face three times as many pixels wide.

    Args:
        photo: a frontal portrait.
        detector, landmarker: find the new face.
    """
    size = (photo.image.shape[1] * _ENLARGE, photo.image.shape[0] * _ENLARGE)
    image = np.asarray(cv2.resize(photo.image, size, interpolation=cv2.INTER_LANCZOS4), np.uint8)
    points = photo.face.landmarks[:, :2] * _ENLARGE + (_ENLARGE - 1) / 2
    image = _reshaped(image, points)
    face = find_faces(image, detector, landmarker)[0]
    image = _toned(image, face.landmarks[:, :2])
    return replace(photo, image=image, face=face)


def _reshaped(image: Image, points: Points) -> Image:
    height, width = image.shape[:2]
    surface = points[:SURFACE]
    face_width, centre = float(np.ptp(surface[:, 0])), surface.mean(0)
    shifts = {index: np.zeros(2) for index in _FIXED}
    for indices, outward, down in _MOVES:
        for index in indices:
            side = np.sign(points[index, 0] - centre[0])
            shift = np.array([outward * side, down]) * face_width
            shifts[int(index)] = shifts.get(int(index), 0) + shift
    before = np.array([points[index] for index in shifts], np.float64)
    moved = before + np.array(list(shifts.values()))
    grid = np.stack(np.meshgrid(np.linspace(0, width, 7), np.linspace(0, height, 7)), -1).reshape(-1, 2)
    anchors = grid[np.linalg.norm((grid - centre) / face_width, axis=1) > 0.9]
    spline = RBFInterpolator(
        np.vstack([moved, anchors]), np.vstack([before - moved, np.zeros_like(anchors)]), smoothing=2.0
    )
    rows, columns = np.mgrid[0:height:_CELL, 0:width:_CELL]
    coarse = spline(np.column_stack([columns.ravel(), rows.ravel()])).reshape(*rows.shape, 2)
    back = cv2.resize(coarse.astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    warped = cv2.remap(
        image, x + back[..., 0], y + back[..., 1], cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(warped, np.uint8)


def _toned(image: Image, points: Points) -> Image:
    shape = (image.shape[0], image.shape[1])
    width = float(np.ptp(points[:SURFACE, 0]))

    def region(ring: Iterable[int], soft: float, grow: float = 0.0) -> Floats:
        mask = np.zeros((-(-shape[0] // _MASK_STEP), -(-shape[1] // _MASK_STEP)), np.float32)
        cv2.fillPoly(mask, [np.rint(points[list(ring)] / _MASK_STEP).astype(np.int32)], 1.0, cv2.LINE_AA)
        if grow:
            side = max(round(grow * width / _MASK_STEP), 1)
            kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side))
            mask = np.asarray(cv2.dilate(mask, kernel), np.float32)
        mask = np.asarray(cv2.GaussianBlur(mask, (0, 0), soft * width / _MASK_STEP), np.float32)
        large = cv2.resize(mask, (shape[1], shape[0]), interpolation=cv2.INTER_LINEAR)
        return np.asarray(large, np.float32)

    white = np.random.default_rng(_NOISE_SEED).standard_normal(shape, np.float32)

    def noise(size: float) -> Floats:
        grain = cv2.GaussianBlur(white, (0, 0), size)
        return np.asarray(grain / grain.std(), np.float32)

    eyes = np.maximum(region(LEFT_EYE, 0.012), region(RIGHT_EYE, 0.012))
    lips = region(LIPS_OUTER, 0.012)
    brows = np.maximum(region(LEFT_BROW, 0.012, 0.02), region(RIGHT_BROW, 0.012, 0.02))
    skin = region(OVAL, 0.06, 0.12) * (1 - eyes) * (1 - lips)
    lip_skin = lips * (1 - region(LIPS_INNER, 0.01))
    stubble = region(_STUBBLE, 0.05) * (1 - np.asarray(cv2.dilate(lips, None, iterations=3)))  # type: ignore[call-overload]

    light, green_red, blue_yellow = cv2.split(
        cv2.cvtColor(image.astype(np.float32) / np.float32(255), cv2.COLOR_BGR2LAB)
    )
    light = light * (1 - 0.10 * skin - 0.14 * lip_skin) - skin
    light += skin * (0.35 * noise(0.9) + 0.3 * noise(2.2))
    light -= stubble * (9 + 1.6 * np.clip(noise(0.7) - 0.35, 0, None))
    light -= brows * 30 * np.clip(0.95 + 0.12 * noise(1.5), 0.6, 1.2) * (light > 20)
    green_red = green_red * (1 - 0.05 * skin - 0.25 * lip_skin) + skin - 1.5 * stubble
    blue_yellow = blue_yellow * (1 + 0.02 * skin) + 2 * skin - 4 * stubble - 6 * brows
    lab = cv2.merge([plane.astype(np.float32) for plane in (light, green_red, blue_yellow)])
    toned = np.clip(cv2.cvtColor(lab, cv2.COLOR_LAB2BGR) * 255, 0, 255)
    return np.asarray(toned, np.uint8)
