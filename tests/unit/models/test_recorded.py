"""The networks still give what was recorded on the portrait that scikit-image ships."""

from __future__ import annotations

import numpy as np
import pytest
import skimage.data

from engine.track.detector import Detector
from engine.track.landmarks import Landmarker, Region
from engine.types import Image

PLACES = (1, 10, 33, 61, 152, 159, 263, 291, 386, 468, 473)
ATTENTION = [
    (222.97, 130.95),
    (226.52, 68.03),
    (194.9, 100.16),
    (201.59, 138.96),
    (220.93, 177.53),
    (202.78, 97.11),
    (255.35, 103.85),
    (245.32, 140.39),
    (247.97, 99.38),
    (203.08, 100.54),
    (246.15, 103.13),
]
MESH = [
    (222.62, 130.66),
    (226.29, 68.61),
    (193.53, 100.43),
    (200.53, 138.4),
    (220.47, 176.54),
    (201.74, 96.97),
    (256.04, 103.48),
    (245.94, 141.01),
    (248.04, 99.08),
]
KEYPOINTS = [
    (201.51, 102.22),
    (247.49, 105.61),
    (222.35, 131.87),
    (220.31, 148.42),
    (176.22, 104.77),
    (271.11, 111.55),
]


@pytest.fixture(scope="module")
def portrait() -> Image:
    return np.ascontiguousarray(skimage.data.astronaut()[..., ::-1])


@pytest.mark.parametrize(("fast", "expected"), [(False, ATTENTION), (True, MESH)])
def test_landmarks(portrait: Image, fast: bool, expected: list[tuple[float, float]]) -> None:
    landmarks, score = Landmarker(fast=fast).locate(portrait, Region(224, 123, 164, 0.06))
    found = landmarks[list(PLACES[: len(expected)]), :2]
    assert score > 0.99
    assert found == pytest.approx(np.array(expected), abs=0.05)


def test_detection(portrait: Image) -> None:
    (face,) = Detector().detect(portrait)
    assert face.score == pytest.approx(0.906, abs=0.01)
    assert face.box == pytest.approx(np.array([171.6, 65.76, 277.46, 171.61]), abs=0.3)
    assert face.keypoints == pytest.approx(np.array(KEYPOINTS), abs=0.2)
