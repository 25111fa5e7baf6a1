from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import onnxruntime as ort
import pytest

from engine.align import alignment, five_points
from engine.identity.demo import demo_photo, portrait_path
from engine.identity.import_photo import PhotoReader
from engine.identity.photo import SourcePhoto


@pytest.fixture(scope="module")
def reader() -> PhotoReader:
    return PhotoReader()


def test_the_built_in_source_is_the_same_every_time(reader: PhotoReader) -> None:
    first, second = demo_photo(reader), demo_photo(reader)
    assert np.array_equal(first.image, second.image)
    assert first.digest == second.digest


def test_its_face_is_large_enough_to_keep_detail(reader: PhotoReader) -> None:
    assert demo_photo(reader).face.width > 200


@pytest.mark.shared
def test_it_is_another_person_than_the_portrait(reader: PhotoReader, shared: Path) -> None:
    network = ort.InferenceSession(
        str(shared / "data" / "models" / "mobilefacenet_bgr128__KennethWang.onnx"),
        providers=["CPUExecutionProvider"],
    )

    def embedding(photo: SourcePhoto) -> np.ndarray:
        matrix = alignment(five_points(photo.face.landmarks), "arcface_112", 112)
        crop = cv2.warpAffine(photo.image, matrix, (112, 112)).astype(np.float32)
        blob = ((crop - 127.5) / 127.5).transpose(2, 0, 1)[None]
        vector = network.run(None, {"x": blob})[0][0]
        return vector / np.linalg.norm(vector)

    portrait = reader.read(portrait_path())
    similarity = float(embedding(portrait) @ embedding(demo_photo(reader)))
    # the network gives the same person 0.78 and more, strangers below 0.1
    assert similarity < 0.6
