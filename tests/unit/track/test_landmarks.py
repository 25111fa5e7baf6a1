"""The landmark network and its crop."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest

from engine.track.detector import Detector
from engine.track.landmarks import (
    Landmarker,
    Region,
    _irises,
    cut,
    region_from_detection,
    region_from_landmarks,
)
from engine.track.topology import LEFT_EYE, RIGHT_EYE
from engine.types import Image


@pytest.mark.parametrize("size", [96.0, 192.0, 300.0, 390.0, 600.0, 790.0])
@pytest.mark.parametrize("angle", [0.0, 0.4, math.pi / 2, -2.0])
def test_a_crop_shows_the_very_place_its_matrix_says(size: float, angle: float) -> None:
    region = Region(500.3, 480.7, size, angle)
    true = np.array([500.3 + 0.1 * size, 480.7 - 0.07 * size])
    y, x = np.mgrid[0:1000, 0:1000]
    spot = 250 * np.exp(-((x - true[0]) ** 2 + (y - true[1]) ** 2) / (2 * (size / 14) ** 2))
    crop = cut(np.repeat(spot.round().astype(np.uint8)[..., None], 3, 2), region, 192)[..., 0]
    rows, columns = np.mgrid[0:192, 0:192]
    centroid = np.array([(columns * crop).sum(), (rows * crop).sum()]) / crop.sum()
    matrix = region.matrix(192)
    assert matrix[:, :2] @ centroid + matrix[:, 2] == pytest.approx(true, abs=0.05 * max(size / 192, 1))


@pytest.mark.parametrize(
    "region", [Region(-900, -900, 300, 0.3), Region(40, 2000, 900, 1), Region(5, 5, 50, 0)]
)
def test_a_region_outside_the_picture_is_no_error(landmarker: Landmarker, region: Region) -> None:
    landmarks, score = landmarker.locate(np.zeros((90, 160, 3), np.uint8), region)
    assert landmarks.shape == (478, 3) and np.isfinite(landmarks).all() and 0 <= score < 0.5


def test_the_fast_model_agrees_and_has_irises(
    astronaut: Image, detector: Detector, landmarker: Landmarker
) -> None:
    region = region_from_detection(detector.detect(astronaut)[0])
    full, _ = landmarker.locate(astronaut, region)
    full, _ = landmarker.locate(astronaut, region_from_landmarks(full))
    fast, score = Landmarker(fast=True).locate(astronaut, region_from_landmarks(full))
    assert fast.shape == (478, 3) and fast.dtype == np.float32 and score > 0.9
    width = np.ptp(full[:468, 0])
    assert np.hypot(*(fast - full)[:468, :2].T).mean() / width < 0.02
    assert np.hypot(*(fast - full)[468:, :2].T).max() / width < 0.03


@pytest.mark.parametrize("aside", [-0.2, 0.0, 0.25])
def test_the_fast_model_s_irises_are_where_the_eyes_are_darkest(aside: float) -> None:
    eye = np.stack([30 + 13 * np.cos(np.linspace(np.pi, 3 * np.pi, 17)[:-1]),
                    40 + 6 * np.sin(np.linspace(np.pi, 3 * np.pi, 17)[:-1])], 1)  # fmt: skip
    points = np.zeros((468, 3), np.float32)
    points[RIGHT_EYE, :2] = eye
    points[LEFT_EYE, :2] = eye + np.array([60, 0])
    crop = np.full((192, 192, 3), 120, np.uint8)  # darker than the white of the eye
    for ring in (RIGHT_EYE, LEFT_EYE):
        cv2.fillPoly(crop, [points[ring, :2].round().astype(np.int32)], (210, 215, 220))
        middle = points[ring, :2].mean(0) - 0.5 + (26 * aside, 0)
        cv2.circle(crop, np.rint(middle * 16).astype(int).tolist(), 5 * 16, (50, 60, 70), -1, cv2.LINE_AA, 4)
    for iris, x in zip(_irises(points, crop)[[0, 5]], (30, 90), strict=True):
        assert iris[:2] == pytest.approx((x + 26 * aside, 40), abs=0.8)


def test_a_measurement_is_not_overwritten_by_the_next(astronaut: Image, landmarker: Landmarker) -> None:
    first, _ = landmarker.locate(astronaut, Region(224, 123, 164, 0.06))
    kept = first.copy()
    landmarker.locate(cv2.flip(astronaut, 1), Region(290, 123, 164, 0))
    assert (first == kept).all()
