"""Masks, and enhancers between their frames: what is in front stays in front, nothing old in a new place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from engine.align import alignment, five_points
from engine.catalog.entry import read_catalogue
from engine.config import NeuralConfig
from engine.quality import Quality
from engine.runtime.network import Network
from engine.runtime.providers import CPU
from engine.swap.mesh import MeshSwapper
from engine.swap.neural.enhance import Cadence
from engine.swap.neural.masks import Kept, Occluder, Outline, Parser, combined
from engine.swap.neural.opening import open_neural
from engine.track.topology import LIPS_INNER, OVAL, RIGHT_EYE
from engine.types import Face, Image, Patch
from models import CATALOGUE
from tests.unit.neural.test_families import store_with
from tests.unit.swap.faces import landmarks, photo, picture

ENTRIES = read_catalogue(CATALOGUE)
FACE = Face(0, landmarks(), 1.0)
MATRIX = alignment(five_points(FACE.landmarks), "arcface", 128)


def crop(image: Image) -> Image:
    return np.asarray(cv2.warpAffine(image, MATRIX, (128, 128)), np.uint8)


@pytest.mark.shared
def test_what_hides_the_face_stays_in_front(standins: Path) -> None:
    """The stand-in takes near-white for an occluder."""
    occluder = Occluder(Network(standins / "xseg_1.onnx", CPU), ENTRIES["xseg_1"].contract)
    image = crop(picture(FACE.landmarks))
    image[40:80, 30:60] = 255
    mask = occluder(image, FACE, MATRIX)
    assert mask[45:75, 35:55].max() < 10
    assert mask[45:75, 75:100].min() > 245


@pytest.mark.shared
def test_only_the_regions_of_a_face_are_swapped(standins: Path) -> None:
    """The stand-in takes saturated colours for skin, the rest for background."""
    parser = Parser(Network(standins / "bisenet_resnet_34.onnx", CPU), ENTRIES["bisenet_resnet_34"].contract)
    image = np.full((128, 128, 3), 128, np.uint8)
    image[32:96, 32:96] = (0, 0, 255)
    mask = parser(image, FACE, MATRIX)
    assert mask[40:88, 40:88].min() > 245
    assert mask[:24].max() < 10


def test_mouth_and_eyes_of_the_target() -> None:
    points = FACE.landmarks[:, :2] @ MATRIX[:, :2].T + MATRIX[:, 2]
    x, y = points[RIGHT_EYE].mean(0).astype(int)
    image = crop(picture(FACE.landmarks))
    both = Kept(mouth=True, eyes=True)(image, FACE, MATRIX)
    assert both[y, x] < 130 and both[y + 20, x] > 250
    assert Kept(mouth=True, eyes=False)(image, FACE, MATRIX)[y, x] > 250
    opened = FACE.landmarks.copy()
    lower = LIPS_INNER[11:]
    opened[lower, 1] += 30
    wide = Kept(mouth=True, eyes=False)(image, Face(0, opened, 1.0), MATRIX)
    assert (wide < 128).sum() > 2 * (Kept(mouth=True, eyes=False)(image, FACE, MATRIX) < 128).sum()


def test_only_what_lies_within_the_outline() -> None:
    mask = Outline()(crop(picture(FACE.landmarks)), FACE, MATRIX)
    points = FACE.landmarks[:, :2] @ MATRIX[:, :2].T + MATRIX[:, 2]
    x, y = points[4].astype(int)
    assert mask[y, x] == 255
    low, high = points[OVAL].min(0), points[OVAL].max(0)
    rows, columns = np.mgrid[:128, :128]
    far = (columns < low[0] - 12) | (columns > high[0] + 12) | (rows > high[1] + 12)
    assert far.any() and mask[far].max() < 5


def test_masks_multiply() -> None:
    one, half = np.full((4, 4), 255, np.uint8), np.full((4, 4), 128, np.uint8)
    assert np.array_equal(combined([one, half]), half)
    assert combined([half, half]).max() == 64
    assert combined([one, half, one * 0]).max() == 0


class Stripes:
    """An enhancer that adds a pattern tied to the picture's content, and counts its runs."""

    def __init__(self) -> None:
        self.name, self.runs = "stripes", 0
        self.contract = ENTRIES["gfpgan_1.4"].contract

    def __call__(self, image: Image) -> Image:
        self.runs += 1
        grey = cv2.GaussianBlur(image, (0, 0), 6).astype(np.int16)
        return np.clip(image + (image - grey), 0, 255).astype(np.uint8)


def face_at(x: float) -> tuple[Image, Face, Patch]:
    points = landmarks(centre=(320 + x, 240))
    base = picture(landmarks(), seed=8)
    texture = np.random.default_rng(1).integers(-40, 40, (480, 640, 1))
    base = np.clip(base + cv2.GaussianBlur(texture.astype(np.float32), (0, 0), 2)[..., None] * 6, 0, 255)
    image = np.asarray(cv2.warpAffine(base.astype(np.uint8), np.float64([[1, 0, x], [0, 1, 0]]), (640, 480)))
    matrix = alignment(five_points(points), "arcface", 128)
    made = np.asarray(cv2.warpAffine(image, matrix, (128, 128)), np.uint8)
    return (
        image,
        Face(0, points, 1.0),
        Patch(made, np.full((128, 128), 255, np.uint8), cv2.invertAffineTransform(matrix)),
    )


def middle(patch: Patch) -> np.ndarray:
    return patch.image[180:330, 180:330].astype(np.float32)


@pytest.mark.parametrize("shift", [0.0, 37.3])
def test_between_its_frames_the_detail_follows_the_face(shift: float) -> None:
    enhancer: Any = Stripes()
    cadence, ideal = Cadence(enhancer, 1.0), Cadence(enhancer, 1.0)
    cadence(*face_at(0), 3)
    image, face, patch = face_at(shift)
    between = cadence(image, face, patch, 3)
    assert enhancer.runs == 1
    enhanced = ideal(image, face, patch, 1)
    plain = Cadence(Nothing(), 1.0)(image, face, patch, 1)
    gain = np.abs(middle(enhanced) - middle(plain)).mean()
    assert gain > 4
    assert np.abs(middle(between) - middle(enhanced)).mean() < 0.35 * gain


class Nothing(Stripes):
    def __call__(self, image: Image) -> Image:
        return image


def test_another_picture_gets_no_old_detail() -> None:
    """A cut, or a hand before the face: the detail of the frame before must not shine through."""
    enhancer: Any = Stripes()
    cadence = Cadence(enhancer, 1.0)
    cadence(*face_at(0), 9)
    image, face, patch = face_at(0)
    other = np.full_like(patch.image, 60)
    between = cadence(np.full_like(image, 60), face, Patch(other, patch.mask, patch.matrix), 9)
    assert enhancer.runs == 1
    assert np.abs(middle(between) - 60).mean() < 1.5


@pytest.mark.parametrize(("every", "quality", "runs"), [(1, 1, 12), (4, 1, 3), (2, 3, 2)])
def test_every_nth_frame(tmp_path: Path, every: int, quality: int, runs: int) -> None:
    store = store_with(tmp_path, ["inswapper_128", "arcface_w600k_r50", "gfpgan_1.4"])
    config = NeuralConfig(enhancer="gfpgan_1.4", enhance_every=every)
    swapper = open_neural("inswapper_128", store, tmp_path, MeshSwapper(), config=config)
    enhancer: Any = Stripes()
    swapper.neural.extras.enhancer = enhancer
    follow = swapper.follow(swapper.prepare([photo()]))
    follow.quality = Quality(enhance=quality)
    frame = picture(FACE.landmarks)
    for _ in range(12):
        follow.patch(frame, FACE, 0.8)
    assert enhancer.runs == runs


def test_what_fails_is_left_out_and_the_swap_goes_on(tmp_path: Path) -> None:
    store = store_with(tmp_path, ["inswapper_128", "arcface_w600k_r50", "gfpgan_1.4"])
    swapper = open_neural(
        "inswapper_128",
        store,
        tmp_path,
        MeshSwapper(),
        config=NeuralConfig(enhancer="gfpgan_1.4", keep_eyes=True),
    )
    told: list[str] = []

    def report(kind: str, message: str = "", **data: Any) -> None:
        told.append(message)

    swapper.report = report

    def broken(*_: object) -> Any:
        raise RuntimeError("CUDA error: out of memory\nstack")

    swapper.neural.extras.enhancer = broken  # type: ignore[assignment]
    broken.name = "gfpgan_1.4"  # type: ignore[attr-defined]
    broken.contract = ENTRIES["gfpgan_1.4"].contract  # type: ignore[attr-defined]
    swapper.neural.extras.masks["xseg_1"] = broken
    follow = swapper.follow(swapper.prepare([photo()]))
    frame = picture(FACE.landmarks)
    for _ in range(3):
        patch = follow.patch(frame, FACE, 0.8)
        assert patch is not None and patch.image.shape == (128, 128, 3)
    assert told == [
        f"{name} failed (CUDA error: out of memory) and is left out" for name in ("xseg_1", "gfpgan_1.4")
    ]
    assert swapper.runs_on != "mesh"
