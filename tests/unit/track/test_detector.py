"""The detector: coordinates, thresholds, suppression."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

import models
from engine.errors import ModelError
from engine.track.detector import Detector, _merge, iou
from engine.types import Image


@pytest.mark.parametrize("size", [(512, 512), (700, 1280), (1280, 700), (520, 1024), (513, 777)])
@pytest.mark.parametrize("corner", ["first", "last"])
def test_boxes_are_in_picture_pixels_whatever_its_shape(
    astronaut: Image, detector: Detector, size: tuple[int, int], corner: str
) -> None:
    canvas = np.full((*size, 3), 60, np.uint8)
    y, x = (0, 0) if corner == "first" else (size[0] - 512, size[1] - 512)
    canvas[y : y + 512, x : x + 512] = astronaut
    (face,) = detector.detect(canvas)
    eyes = face.keypoints[:2].mean(0) - (x, y)
    pixel = max(size) / 192  # of what the network sees; it is exact to about one
    assert eyes == pytest.approx(np.array([224.6, 102.5]), abs=2.5 * pixel)
    assert face.box[2] - face.box[0] == pytest.approx(106, abs=2.5 * pixel)


def test_the_picture_is_not_written_to(astronaut: Image, detector: Detector) -> None:
    kept = astronaut.copy()
    detector.detect(astronaut)
    assert (kept == astronaut).all()


def test_two_faces_and_the_threshold(astronaut: Image, detector: Detector) -> None:
    both = np.concatenate([astronaut, cv2.flip(astronaut, 1)], 1)
    found = detector.detect(both)
    assert len(found) == 2 and found[0].score >= found[1].score
    assert detector.detect(both, min_score=0.999) == []
    assert len(detector.detect(both, min_score=0.05)) >= 2


@pytest.mark.parametrize("shape", [(1, 1), (2, 500), (500, 2), (192, 192)])
def test_tiny_and_flat_pictures(detector: Detector, shape: tuple[int, int]) -> None:
    assert detector.detect(np.zeros((*shape, 3), np.uint8)) == []


def test_overlapping_answers_are_averaged_by_their_scores() -> None:
    boxes = np.array([[0, 0, 10, 10], [2, 0, 12, 10], [50, 50, 60, 60]], np.float32)
    points = np.arange(36, dtype=np.float32).reshape(3, 6, 2)
    found = _merge(boxes, points, np.array([0.6, 0.9, 0.7], np.float32))
    assert [each.score for each in found] == pytest.approx([0.9, 0.7])
    assert found[0].box == pytest.approx(np.array([1.2, 0, 11.2, 10]), abs=1e-5)
    assert found[1].box.tolist() == [50, 50, 60, 60]


def test_overlap() -> None:
    box = np.array([0, 0, 10, 10], np.float32)
    others = np.array([[0, 0, 10, 10], [5, 0, 15, 10], [20, 20, 30, 30], [3, 3, 3, 3]], np.float32)
    assert iou(box, others) == pytest.approx(np.array([1, 1 / 3, 0, 0]))


def test_another_network_or_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        Detector(tmp_path / "missing.onnx")
    other = tmp_path / "other.onnx"
    other.write_bytes(b"not a network")
    with pytest.raises(ModelError):
        Detector(other)
    with pytest.raises(ModelError, match="no full-range"):
        Detector(models.embedded("face_landmark_468.onnx"))
