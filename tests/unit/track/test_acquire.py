"""Telling faces from what the landmark network would take for one."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import skimage.data

from engine.track.acquire import acquire, keypoint_error, movement, shape_error
from engine.track.detector import Detector
from engine.track.landmarks import Landmarker
from engine.track.topology import CANONICAL
from engine.types import Detection, Image
from tests.unit.track.film import clip

TEXTURES = ("coffee", "gravel", "coins", "brick", "grass", "chelsea")
LOW = 0.1


def picture(name: str) -> Image:
    image = getattr(skimage.data, name)()
    image = np.repeat(image[..., None], 3, 2) if image.ndim == 2 else image[..., 2::-1]
    return np.asarray(cv2.resize(np.ascontiguousarray(image), (900, 700)), np.uint8)


def candidates(image: Image, detector: Detector) -> list[Detection]:
    """Whatever the detector finds at a low threshold, in the whole and in small tiles."""
    height, width = image.shape[:2]
    found = []
    for y in range(0, height - 199, 100):
        for x in range(0, width - 199, 100):
            tile = image[y : y + 200, x : x + 200]
            for each in detector.detect(tile, min_score=LOW):
                shift = np.array([x, y], np.float32)
                found.append(Detection(each.box + np.tile(shift, 2), each.keypoints + shift, each.score))
    return found + detector.detect(image, min_score=LOW)


def test_most_textures_are_refused(detector: Detector, landmarker: Landmarker) -> None:
    seen = [(picture(name), name) for name in TEXTURES]
    tried = [(image, each) for image, _ in seen for each in candidates(image, detector)]
    accepted = [each for image, each in tried if acquire(image, each, landmarker)]
    assert len(tried) > 20  # the detector does propose nonsense at this threshold
    assert len(accepted) < 0.2 * len(tried)
    assert not [each for each in accepted if each.score > 0.6]


@pytest.mark.parametrize("shift", [(80, 0), (0, 90), (-70, 60)])
def test_a_detection_beside_the_face_is_refused(
    astronaut: Image, detector: Detector, landmarker: Landmarker, shift: tuple[int, int]
) -> None:
    true = detector.detect(astronaut)[0]
    assert acquire(astronaut, true, landmarker)
    off = np.array(shift, np.float32)
    assert not acquire(
        astronaut, Detection(true.box + np.tile(off, 2), true.keypoints + off, 0.9), landmarker
    )


def test_a_detection_of_the_wrong_size_is_refused(
    astronaut: Image, detector: Detector, landmarker: Landmarker
) -> None:
    true = detector.detect(astronaut)[0]
    middle = true.box.reshape(2, 2).mean(0)
    for scale in (0.4, 2.5):
        box = ((true.box.reshape(2, 2) - middle) * scale + middle).ravel()
        assert not acquire(astronaut, Detection(box, true.keypoints, 0.9), landmarker)


def test_the_errors_are_nought_for_the_canonical_face_and_grow_from_there() -> None:
    face = np.concatenate([10 * CANONICAL, np.zeros((10, 3))]).astype(np.float32)
    assert shape_error(face) < 1e-4 and movement(face, face) == 0
    assert movement(face, face + np.float32(5)) > 0.02
    assert shape_error(face * np.array([1, 0.5, 1], np.float32)) > 0.055  # squashed
    assert shape_error(face[::-1]) > 0.2
    keypoints = np.zeros((6, 2), np.float32)
    assert keypoint_error(face, Detection(np.zeros(4, np.float32), keypoints, 1)) > 0.1


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "every"),
    [
        ("lp_s18_720p.mp4", 30),
        ("lp_d13_phone_selfie.mp4", 30),
        ("lp_d20_dark.mp4", 20),
        ("intel_head_pose_female_male.gif", 8),
        ("lp_s29_portrait.mp4", 30),
        ("rope_target_2048x1080.mp4", 40),
    ],
)
def test_faces_of_real_clips_are_accepted(
    clips: Path, detector: Detector, landmarker: Landmarker, name: str, every: int
) -> None:
    for frame in list(clip(clips / name, 121))[::every]:
        found = detector.detect(frame.image)
        assert found and all(acquire(frame.image, each, landmarker) for each in found if each.score > 0.7)
