"""The neural path against InsightFace's own classes on the same files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import onnxruntime as ort
import pytest
from skimage.data import astronaut

from engine.align import similarity
from engine.blend.paste import paste
from engine.catalog.entry import Contract, SourceInput, read_catalogue
from engine.identity.embedding import Embedder
from engine.swap.neural.latent import latent, read_emap
from engine.swap.neural.swapper import NeuralIdentity, NeuralSwapper
from engine.types import Face, Patch
from models import CATALOGUE

pytestmark = pytest.mark.shared
CONTRACTS: dict[str, Contract] = {name: entry.contract for name, entry in read_catalogue(CATALOGUE).items()}
FIVE = [468, 473, 4, 61, 291]


def open_cpu(path: Path) -> ort.InferenceSession:
    return ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def pictures() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The astronaut turned, scaled and shifted, with the five points of her face."""
    photo = np.ascontiguousarray(astronaut()[..., ::-1])
    points = np.array([[199, 107], [247, 106], [226, 133], [206, 155], [246, 155]], np.float32)
    random = np.random.default_rng(3)
    for _ in range(50):
        matrix = cv2.getRotationMatrix2D((223, 125), random.uniform(-30, 30), random.uniform(0.8, 2.5))
        matrix[:, 2] += np.array([320, 240]) - [223, 125] + random.uniform(-40, 40, 2)
        picture = cv2.warpAffine(photo, matrix, (640, 480), borderMode=cv2.BORDER_REFLECT)
        yield picture, (points @ matrix[:, :2].T + matrix[:, 2]).astype(np.float32)


def face_at(points: np.ndarray) -> Face:
    landmarks = np.zeros((478, 3), np.float32)
    landmarks[FIVE, :2] = points
    return Face(0, landmarks, 1.0)


def test_embeddings_are_the_same(standins: Path) -> None:
    from insightface.model_zoo.arcface_onnx import ArcFaceONNX

    path = standins / "models" / "buffalo_l" / "w600k_r50.onnx"
    session = open_cpu(path)
    reference = ArcFaceONNX(str(path), session)
    embedder = Embedder(session, CONTRACTS["arcface_w600k_r50"])
    for picture, points in pictures():
        theirs = reference.get(picture, SimpleNamespace(kps=points))
        ours = embedder.embed(picture, points)
        cosine = float(ours @ theirs / np.linalg.norm(ours) / np.linalg.norm(theirs))
        assert cosine >= 0.9999


def test_patches_are_the_same(standins: Path) -> None:
    from insightface.model_zoo.inswapper import INSwapper

    path = standins / "inswapper_128.onnx"
    session = open_cpu(path)
    reference = INSwapper(str(path), session)
    emap = read_emap(path)
    assert np.array_equal(emap, reference.emap)
    swapper = NeuralSwapper("inswapper_128", CONTRACTS["inswapper_128"], session, emap=emap)
    embedding = np.random.default_rng(5).normal(size=512).astype(np.float32)
    source = latent(embedding, SourceInput.EMAP, emap=emap)
    person = SimpleNamespace(normed_embedding=embedding / np.linalg.norm(embedding))
    face_swap = swapper.follow(NeuralIdentity(source))
    for picture, points in pictures():
        theirs, matrix = reference.get(picture, SimpleNamespace(kps=points), person, paste_back=False)
        patch = face_swap.patch(picture, face_at(points), 1.0)
        assert patch is not None
        assert np.abs(cv2.invertAffineTransform(patch.matrix) - matrix).max() < 1e-4
        # They cut off where we round (1), and solve the alignment in single precision, so that one
        # crop pixel in thousands lies on the other side of a rounding border (up to 2 more).
        difference = np.abs(patch.image.astype(int) - theirs)
        assert np.quantile(difference, 0.999) <= 1
        assert difference.max() <= 3


def test_pasted_back_alike(standins: Path) -> None:
    from insightface.model_zoo.inswapper import INSwapper

    path = standins / "inswapper_128.onnx"
    session = open_cpu(path)
    reference = INSwapper(str(path), session)
    swapper = NeuralSwapper("inswapper_128", CONTRACTS["inswapper_128"], session)
    embedding = np.random.default_rng(6).normal(size=512).astype(np.float32)
    person = SimpleNamespace(normed_embedding=embedding / np.linalg.norm(embedding))
    source = latent(embedding, SourceInput.EMAP, emap=read_emap(path))
    face_swap = swapper.follow(NeuralIdentity(source))
    for picture, points in pictures():
        theirs = reference.get(picture, SimpleNamespace(kps=points), person, paste_back=True)
        patch = face_swap.patch(picture, face_at(points), 1.0)
        assert patch is not None
        ours = picture.copy()
        paste(ours, patch)
        # The core, where both masks are full; their frame feathers 10 % of the crop and more.
        core = np.zeros((128, 128), np.uint8)
        cv2.circle(core, (64, 64), 30, 255, -1)
        inside = cv2.warpAffine(core, patch.matrix, (640, 480), flags=cv2.INTER_NEAREST) == 255
        difference = np.abs(ours.astype(int) - theirs)[inside]
        # See `test_patches_are_the_same` for the last thousandth.
        assert np.quantile(difference, 0.999) <= 2
        assert difference.max() <= 5
        made, matrix = reference.get(picture, SimpleNamespace(kps=points), person, paste_back=False)
        same_patch = picture.copy()
        back = cv2.invertAffineTransform(matrix).astype(np.float64)
        paste(same_patch, Patch(np.ascontiguousarray(made), patch.mask, back))
        # OpenCV rounds sources to 1/32 px; warping a part of the frame rounds a few pixels of steep
        # edges the other way than warping all of it.
        pasting = np.abs(same_patch.astype(int) - theirs)[inside]
        assert np.quantile(pasting, 0.9995) <= 2
        assert pasting.max() <= 4
        # A warped copy of the mask says where nothing may change, by a road of its own.
        reach = cv2.warpAffine((patch.mask > 0).astype(np.float32), patch.matrix, (640, 480))
        reach = cv2.dilate(reach, np.ones((3, 3))) > 0
        assert np.array_equal(ours[~reach], picture[~reach])
        assert (ours[inside] != picture[inside]).any()


def test_the_similarity_is_the_least_squares_one() -> None:
    from skimage.transform import SimilarityTransform

    random = np.random.default_rng(7)
    for _ in range(20):
        a, b = random.normal(0, 50, (5, 2)), random.normal(0, 50, (5, 2))
        theirs = SimilarityTransform.from_estimate(a, b).params[:2]
        assert np.abs(similarity(a, b) - theirs).max() < 1e-9
