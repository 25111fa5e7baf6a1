"""One picture: every way a face may lie in it gives the same landmarks, moved along."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from engine.track.detector import Detector
from engine.track.landmarks import Landmarker
from engine.track.stills import find_faces
from engine.types import Image, Points


def only(image: Image, detector: Detector, landmarker: Landmarker) -> Points:
    faces = find_faces(image, detector, landmarker)
    assert len(faces) == 1
    return faces[0].landmarks


def error(found: Points, expected: Points) -> float:
    """Mean distance over the face's width."""
    return float(np.hypot(*(found[:, :2] - expected[:, :2]).T).mean() / np.ptp(expected[:468, 0]))


@pytest.mark.parametrize("angle", [-150, -90, -60, -30, 10, 45, 90, 180])
@pytest.mark.parametrize("scale", [0.7, 1.0, 2.4])
def test_landmarks_turn_and_grow_with_the_picture(
    astronaut: Image, detector: Detector, landmarker: Landmarker, angle: float, scale: float
) -> None:
    upright = only(astronaut, detector, landmarker)
    matrix = cv2.getRotationMatrix2D((255.5, 255.5), angle, scale)
    side = round(512 * max(scale, 1.0))
    matrix[:, 2] += (side - 512) / 2
    turned = cv2.warpAffine(
        astronaut, matrix, (side, side), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    expected = upright[:, :2] @ matrix[:, :2].T + matrix[:, 2]
    assert error(only(turned, detector, landmarker), expected) < 0.02


def test_a_face_that_fills_the_picture(astronaut: Image, detector: Detector, landmarker: Landmarker) -> None:
    crop = np.ascontiguousarray(astronaut[62:182, 172:272])
    expected = only(astronaut, detector, landmarker) - (172, 62, 0)
    assert error(only(crop, detector, landmarker), expected) < 0.03


def test_a_small_face_in_a_large_picture(
    astronaut: Image, detector: Detector, landmarker: Landmarker
) -> None:
    canvas = np.full((1600, 2400, 3), 90, np.uint8)
    canvas[900:1156, 1700:1956] = cv2.resize(astronaut, (256, 256), interpolation=cv2.INTER_AREA)
    expected = (only(astronaut, detector, landmarker)[:, :2] + 0.5) / 2 - 0.5 + (1700, 900)
    assert not detector.detect(canvas)  # 46 of 2400 pixels: only the tiles show it
    assert error(only(canvas, detector, landmarker), expected) < 0.03


def test_the_largest_face_comes_first(astronaut: Image, detector: Detector, landmarker: Landmarker) -> None:
    small = cv2.resize(astronaut, (300, 300), interpolation=cv2.INTER_AREA)
    canvas = np.zeros((512, 1024, 3), np.uint8)
    canvas[100:400, 50:350] = small
    canvas[:, 512:] = astronaut
    faces = find_faces(canvas, detector, landmarker)
    assert [face.id for face in faces] == [0, 1]
    assert faces[0].box[0] > 512 > faces[1].box[2]
    assert faces[0].width > faces[1].width


@pytest.mark.parametrize("shape", [(1, 1), (1, 700), (40, 40), (300, 5), (720, 1280)])
def test_no_face(detector: Detector, landmarker: Landmarker, shape: tuple[int, int]) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (*shape, 3), np.uint8)
    assert find_faces(noise, detector, landmarker) == ()


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("uni_group_meeting.jpg", 5),
        ("lite_face_fills_frame.jpg", 1),
        ("lp_closeup_nodetect.jpg", 1),
        ("profile_intel_female.png", 1),
        ("lp_mouth_open.jpg", 1),
        ("human_hands_on_head.jpg", 1),
        ("human_dark_hand.jpg", 1),
        ("upside_down.jpg", 1),
        ("sideways_noexif.jpg", 1),
        ("face_only_crop_96x120.png", 1),
        ("lite_dark_room_noface.png", 0),
        ("tiny_40x40.png", 0),
    ],
)
def test_photos(photos: Path, detector: Detector, landmarker: Landmarker, name: str, count: int) -> None:
    assert len(find_faces(cv2.imread(str(photos / name)), detector, landmarker)) == count
