"""Optical flow carries landmarks where a picture's content went."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from engine.track.detector import Detector
from engine.track.flow import carry
from engine.track.landmarks import Landmarker
from engine.track.stills import find_faces
from engine.types import Image, Points


@pytest.fixture(scope="module")
def face(astronaut: Image, detector: Detector, landmarker: Landmarker) -> Points:
    return find_faces(astronaut, detector, landmarker)[0].landmarks


def warp(image: Image, matrix: np.ndarray) -> Image:
    size = image.shape[1], image.shape[0]
    return np.asarray(
        cv2.warpAffine(image, matrix, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE), np.uint8
    )


@pytest.mark.parametrize(
    ("x", "y", "angle", "scale"),
    [(0, 0, 0, 1), (2.3, -1.7, 0, 1), (9, 6, 0, 1), (0, 0, 6, 1), (0, 0, 0, 1.08), (3, 2, -4, 0.95)],
)
def test_a_known_motion(
    astronaut: Image, face: Points, x: float, y: float, angle: float, scale: float
) -> None:
    matrix = cv2.getRotationMatrix2D((224, 123), angle, scale)
    matrix[:, 2] += (x, y)
    carried = carry(astronaut, warp(astronaut, matrix), face)
    assert carried is not None and carried.share > 0.8
    expected = face[:, :2] @ matrix[:, :2].T + matrix[:, 2]
    assert np.hypot(*(carried.landmarks[:, :2] - expected).T).mean() < 0.004 * np.ptp(face[:, 0])


def test_a_known_motion_helps_a_far_jump(astronaut: Image, face: Points) -> None:
    matrix = np.array([[1, 0, 90], [0, 1, 40.0]])
    carried = carry(astronaut, warp(astronaut, matrix), face, np.array([85, 45], np.float32))
    assert carried is not None
    assert carried.landmarks[:, :2] == pytest.approx(face[:, :2] + (90, 40), abs=0.6)


def test_a_mouth_that_opens_is_followed(astronaut: Image, face: Points) -> None:
    y, x = np.mgrid[0:512, 0:512].astype(np.float32)
    lip = face[17, :2]
    push = 5 * np.exp(-((x - lip[0]) ** 2 + (y - lip[1]) ** 2) / (2 * 9.0**2))
    opened = cv2.remap(astronaut, x, (y - push).astype(np.float32), cv2.INTER_CUBIC)
    carried = carry(astronaut, np.asarray(opened, np.uint8), face)
    assert carried is not None
    moved = carried.landmarks[:, 1] - face[:, 1]
    assert moved[17] > 2.5
    assert abs(moved[10]) < 0.5 and abs(moved[33]) < 0.5


@pytest.mark.parametrize("kind", ["grey", "noise", "other place"])
def test_nothing_to_follow(astronaut: Image, face: Points, kind: str) -> None:
    random = np.random.default_rng(0)
    after = {
        "grey": np.full_like(astronaut, 99),
        "noise": random.integers(0, 256, astronaut.shape, np.uint8),
        "other place": np.ascontiguousarray(np.roll(astronaut, 230, 0)),
    }[kind]
    assert carry(astronaut, after, face) is None


def test_inputs_stay_as_they_are(astronaut: Image, face: Points) -> None:
    kept = face.copy()
    carry(astronaut, astronaut, face, np.zeros(2, np.float32))
    assert (face == kept).all()
