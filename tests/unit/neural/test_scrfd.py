"""SCRFD against InsightFace's own class on the same files and pictures."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import cv2
import numpy as np
import onnxruntime as ort
import pytest

from engine.errors import ModelError
from engine.track.landmarks import Landmarker
from engine.track.scrfd import Scrfd
from engine.track.tracker import Tracker
from engine.types import Frame, Image

pytestmark = pytest.mark.shared
REAL = ("scrfd_500m_kps__hpc203.onnx", "scrfd_2.5g_kps__hpc203.onnx")


def open_cpu(path: Path) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module")
def maker(shared: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("standins", shared / "prototypes" / "make_standins.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def generated(maker: ModuleType, count: int) -> Iterator[Image]:
    """Marker faces of all sizes and turns on soft noise."""
    random = np.random.default_rng(5)
    for number in range(count):
        width, height = [(640, 480), (1280, 720), (480, 640), (701, 433)][number % 4]
        image = random.integers(90, 130, (height, width, 1), np.uint8).repeat(3, 2)
        size = random.uniform(0.25, 0.6) * min(width, height)
        centre = (
            random.uniform(size * 0.7, width - size * 0.7),
            random.uniform(size * 0.7, height - size * 0.7),
        )
        yield maker.draw_face(image, centre, size, random.uniform(-40, 40), number)


def real(photos: Path, clips: Path) -> Iterator[Image]:
    for path in sorted(photos.glob("*.jpg")):
        image = cv2.imread(str(path))
        if image is not None and max(image.shape) < 3000:
            yield image
    for path in sorted(clips.glob("lp_*.mp4"))[:8]:
        reader = cv2.VideoCapture(str(path))
        for _ in range(3):
            there, image = reader.read()
            if there:
                yield image
        reader.release()


def compare(path: Path, pictures: Iterator[Image]) -> tuple[int, int]:
    """Assert that both find the same; how many pictures and faces there were."""
    from insightface.model_zoo.scrfd import SCRFD

    session = open_cpu(path)
    reference = SCRFD(str(path), session)
    ours = Scrfd(session)
    seen = faces = 0
    for image in pictures:
        boxes, points = reference.detect(image, input_size=(640, 640))
        height, width = image.shape[:2]
        # They bring x back by the scale of y, although the shorter side of the letterbox was cut to
        # whole pixels; we use each axis's own. That is the whole difference.
        zoom = 640 / max(height, width)
        w, h = int(width * zoom), int(height * zoom)
        undo = np.array([(h / height) * (width / w), 1], np.float32)
        boxes[:, :4] = (boxes[:, :4].reshape(-1, 2, 2) * undo).reshape(-1, 4)
        found = ours.find(image)
        seen += 1
        faces += len(boxes)
        assert len(found.boxes) == len(boxes)
        assert np.abs(found.scores - boxes[:, 4]).max(initial=0) < 1e-5
        assert np.abs(found.boxes - boxes[:, :4]).max(initial=0) <= 0.1
        assert np.abs(found.points - points * undo).max(initial=0) <= 0.1
    return seen, faces


def test_the_stand_in_on_generated_pictures(standins: Path, maker: ModuleType) -> None:
    seen, faces = compare(standins / "models" / "buffalo_l" / "det_10g.onnx", generated(maker, 40))
    assert seen == 40 and faces >= 35


@pytest.mark.parametrize(("name", "count"), [(REAL[0], 20), (REAL[1], 8)])
def test_real_files_on_real_pictures(shared: Path, photos: Path, clips: Path, name: str, count: int) -> None:
    seen, faces = compare(shared / "data" / "models" / name, itertools.islice(real(photos, clips), count))
    assert seen == count and faces >= 0.6 * count


def test_the_tracker_works_with_it(shared: Path, photos: Path) -> None:
    image = cv2.imread(str(photos / "uni_man_frontal.jpg"))
    tracker = Tracker(Scrfd(open_cpu(shared / "data" / "models" / REAL[1])), Landmarker())
    (face,) = tracker.update(Frame(0, 0, image))
    assert tracker.doubtful == ()
    assert face.width > 200


def test_another_detector_is_refused(shared: Path) -> None:
    with pytest.raises(ModelError, match="SCRFD"):
        Scrfd(open_cpu(shared / "data" / "models" / "yunet_n_dynamic.onnx"))
    with pytest.raises(ModelError, match="SCRFD"):
        Scrfd(open_cpu(shared / "data" / "models" / "scrfd_2.5g_nchw__KennethWang.onnx"))
