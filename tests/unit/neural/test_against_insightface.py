"""The neural path against InsightFace's own classes on the same files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import onnxruntime as ort
import pytest
from skimage.data import astronaut
from skimage.transform import SimilarityTransform

from engine.align import alignment, landmarks_at, similarity, target_points
from engine.blend.paste import paste
from engine.catalog.entry import Contract, SourceInput, read_catalogue
from engine.identity.embedding import Embedder
from engine.swap.neural.latent import latent, read_emap
from engine.swap.neural.mask import box_mask
from engine.swap.neural.swapper import NeuralIdentity, NeuralSwapper
from engine.types import Face, Patch
from models import CATALOGUE

pytestmark = pytest.mark.shared
CONTRACTS: dict[str, Contract] = {name: entry.contract for name, entry in read_catalogue(CATALOGUE).items()}


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
    return Face(0, landmarks_at(points), 1.0)


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


@pytest.fixture
def both(standins: Path) -> tuple[Any, Any, Any]:
    """InsightFace's swapper, the person it makes of everybody, and ours following a face, on one network."""
    from insightface.model_zoo.inswapper import INSwapper

    path = standins / "inswapper_128.onnx"
    session = open_cpu(path)
    reference, emap = INSwapper(str(path), session), read_emap(path)
    assert np.array_equal(emap, reference.emap)
    embedding = np.random.default_rng(5).normal(size=512).astype(np.float32)
    person = SimpleNamespace(normed_embedding=embedding / np.linalg.norm(embedding))
    swapper = NeuralSwapper("inswapper_128", CONTRACTS["inswapper_128"], session, emap=emap)
    source = latent(embedding, SourceInput.EMAP, emap=emap)
    return reference, person, swapper.follow(NeuralIdentity(source))


def exact_warp(image: np.ndarray, matrix: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """`cv2.warpAffine`, bilinear, 0 outside, in double precision and without rounding."""
    inverse = np.linalg.inv(np.vstack([matrix, [0, 0, 1]]))
    grid = np.mgrid[: size[1], : size[0]].astype(np.float64)
    x, y = (inverse[i, 0] * grid[1] + inverse[i, 1] * grid[0] + inverse[i, 2] for i in (0, 1))
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    total = np.zeros((*x.shape, 3))
    for row, column in ((0, 0), (0, 1), (1, 0), (1, 1)):
        v, u = top + row, left + column
        weight = (1 - np.abs(x - u)) * (1 - np.abs(y - v))
        inside = (v >= 0) & (v < image.shape[0]) & (u >= 0) & (u < image.shape[1])
        at = image[v.clip(0, image.shape[0] - 1), u.clip(0, image.shape[1] - 1)]
        total += at * (weight * inside)[..., None]
    return total


def test_patches_are_the_same(both: tuple[Any, Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Given one alignment, never more than one level apart: they cut off where we round."""
    reference, person, face_swap = both
    for picture, points in pictures():
        theirs, matrix = reference.get(picture, SimpleNamespace(kps=points), person, paste_back=False)
        monkeypatch.setattr("engine.swap.neural.swapper.alignment", lambda *_, matrix=matrix: matrix)
        patch = face_swap.patch(picture, face_at(points), 1.0)
        assert np.abs(patch.image.astype(int) - theirs).max() <= 1


def test_what_the_alignment_adds(both: tuple[Any, Any, Any]) -> None:
    """They solve it in single precision. A ten-thousandth of a pixel is nothing by itself, but OpenCV
    rounds positions to 1/32 px: a few pixels at steep edges fall on the other side of a border. Both
    crops are as far from a warp without rounding."""
    reference, person, face_swap = both
    largest = {"ours": 0.0, "theirs": 0.0}
    for picture, points in pictures():
        theirs, matrix = reference.get(picture, SimpleNamespace(kps=points), person, paste_back=False)
        patch = face_swap.patch(picture, face_at(points), 1.0)
        difference = np.abs(patch.image.astype(int) - theirs)
        assert np.quantile(difference, 0.999) <= 1
        assert difference.max() <= 3
        ours = alignment(points, "arcface", 128)
        assert np.abs(cv2.invertAffineTransform(patch.matrix) - ours).max() < 1e-9
        best = SimilarityTransform.from_estimate(points.astype(np.float64), target_points("arcface", 128))
        assert np.abs(ours - best.params[:2]).max() < 1e-9
        assert 1e-9 < np.abs(matrix - best.params[:2]).max() < 2e-4
        exact = exact_warp(picture, best.params[:2], (128, 128))
        for name, move in (("ours", ours), ("theirs", matrix)):
            crop = cv2.warpAffine(picture, move, (128, 128))
            largest[name] = max(largest[name], float(np.abs(crop - exact).max()))
    assert largest["ours"] <= largest["theirs"] + 0.01 <= 3.1


def core_of(back: np.ndarray) -> np.ndarray:
    """The part of the frame in which both masks are full; their frame feathers 10 % of the crop and more."""
    core = np.zeros((128, 128), np.uint8)
    cv2.circle(core, (64, 64), 30, 255, -1)
    return np.asarray(cv2.warpAffine(core, back, (640, 480), flags=cv2.INTER_NEAREST) == 255)


def test_pasted_back_alike(both: tuple[Any, Any, Any]) -> None:
    """Given one patch and one way back. Where the same warped pixels are pasted, they differ by the one
    level that theirs cuts off. The rest comes from the warp: OpenCV rounds positions to 1/32 px, and
    warping a part of the frame rounds a few of them otherwise than warping all of it. Ours stay nearer
    to a warp without rounding."""
    reference, person, _ = both
    off = {"ours": [0.0, 0.0], "theirs": [0.0, 0.0]}
    for picture, points in pictures():
        theirs = reference.get(picture, SimpleNamespace(kps=points), person, paste_back=True)
        made, matrix = reference.get(picture, SimpleNamespace(kps=points), person, paste_back=False)
        made = np.ascontiguousarray(made)
        back = cv2.invertAffineTransform(matrix).astype(np.float64)
        inside, mask = core_of(back), box_mask(128)

        warped = cv2.warpAffine(made, back, (640, 480))
        there = picture.copy()
        paste(there, Patch.at(warped, cv2.warpAffine(mask, back, (640, 480)), 0, 0))
        assert np.abs(there.astype(int) - theirs)[inside].max() <= 1

        ours = picture.copy()
        paste(ours, Patch(made, mask, back))
        exact = exact_warp(made, back, (640, 480))[inside]
        for name, result in (("ours", ours), ("theirs", theirs)):
            difference = np.abs(result[inside] - exact)
            off[name] = [max(off[name][0], float(difference.max())), off[name][1] + float(difference.mean())]
        difference = np.abs(ours.astype(int) - theirs)[inside]
        assert np.quantile(difference, 0.9995) <= 2
        assert difference.max() <= 4
    assert off["ours"][0] <= 2.5
    assert off["ours"][0] < off["theirs"][0]
    assert off["ours"][1] < off["theirs"][1]


def test_outside_the_mask_no_bit_changes(both: tuple[Any, Any, Any]) -> None:
    _, _, face_swap = both
    for picture, points in pictures():
        patch = face_swap.patch(picture, face_at(points), 1.0)
        ours = picture.copy()
        paste(ours, patch)
        # A warped copy of the mask says where nothing may change, by a road of its own.
        reach = cv2.warpAffine((patch.mask > 0).astype(np.float32), patch.matrix, (640, 480))
        reach = cv2.dilate(reach, np.ones((3, 3))) > 0
        assert np.array_equal(ours[~reach], picture[~reach])
        assert (ours[core_of(patch.matrix)] != picture[core_of(patch.matrix)]).any()


def test_the_similarity_is_the_least_squares_one() -> None:
    random = np.random.default_rng(7)
    for _ in range(20):
        a, b = random.normal(0, 50, (5, 2)), random.normal(0, 50, (5, 2))
        theirs = SimilarityTransform.from_estimate(a, b).params[:2]
        assert np.abs(similarity(a, b) - theirs).max() < 1e-9
