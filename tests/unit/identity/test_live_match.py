"""The live match: the same person passes; somebody else, a photo and Kawari's own pictures do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import av
import cv2
import numpy as np
import onnxruntime as ort
import pytest

from engine.build import make_tracker
from engine.catalog.entry import Contract, Tensor
from engine.errors import DeviceError, RefusedError
from engine.identity.demo import demo_photo, portrait_path
from engine.identity.embedding import Embedder
from engine.identity.import_photo import read_photo
from engine.identity.live_match import LOOKS, SAME, LiveMatch, Pose, match_live
from engine.identity.photo import SourcePhoto
from engine.identity.picture import read_picture
from engine.mark.marker import Marker
from engine.mark.payload import Payload
from engine.sources.base import SourceInfo
from engine.types import Face, Frame, Image

CONTRACT = Contract(
    inputs=(Tensor((-1, 3, 112, 112)),), template="arcface", size=112, colour="bgr",
    mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5),
)  # fmt: skip
FPS = 25


class Played:
    """A camera that shows these pictures."""

    def __init__(self, images: Sequence[Image]) -> None:
        self._images = iter(images)
        self._count = 0
        self.closed = False

    def open(self) -> SourceInfo:
        return SourceInfo("played", 0, 0, FPS, live=True)

    def read(self) -> Frame | None:
        image = next(self._images, None)
        self._count += 1
        return None if image is None else Frame(self._count, 0, image, self._count / FPS)

    def close(self) -> None:
        self.closed = True


@pytest.fixture(scope="module")
def embedder(shared: Path) -> Embedder:
    path = shared / "data" / "models" / "mobilefacenet_bgr128__KennethWang.onnx"
    return Embedder(ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]), CONTRACT)


def frames(path: Path) -> Iterator[Image]:
    with av.open(path) as container:
        for frame in container.decode(container.streams.video[0]):
            yield frame.to_ndarray(format="bgr24")


def halved(image: Image) -> Image:
    return np.asarray(cv2.resize(image, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), np.uint8)


def to_both_sides(clips: Path) -> list[Image]:
    """A woman who turns her head to one side, then, mirrored, to the other; every third frame."""
    seen = [halved(image) for image in list(frames(clips / "lp_d3_closeup_flicker.mp4"))[::3]]
    return [*seen, *(np.ascontiguousarray(image[:, ::-1]) for image in reversed(seen))]


def photo_of(image: Image, folder: Path) -> SourcePhoto:
    cv2.imwrite(str(folder / "photo.png"), image)
    return read_photo(folder / "photo.png")


def match(images: Sequence[Image], photos: Sequence[SourcePhoto], embedder: Embedder) -> tuple[float, ...]:
    source = Played(images)
    try:
        return match_live(
            source, make_tracker(), photos, embedder,
            ask=lambda _: None, seconds=8, clock=lambda frame: frame.seconds,
        )  # fmt: skip
    finally:
        assert source.closed


@pytest.mark.shared
def test_the_same_person_passes(clips: Path, embedder: Embedder, tmp_path: Path) -> None:
    images = to_both_sides(clips)
    (similarity,) = match(images, [photo_of(images[20], tmp_path)], embedder)
    assert similarity >= SAME


@pytest.mark.shared
@pytest.mark.parametrize("other", ["uni_man_frontal.jpg", "lp_mouth_open.jpg", "astronaut.png"])
def test_somebody_else_does_not(
    clips: Path, photos: Path, embedder: Embedder, tmp_path: Path, other: str
) -> None:
    images = to_both_sides(clips)
    with pytest.raises(RefusedError, match="does not seem to be"):
        match(images, [photo_of(images[20], tmp_path), read_photo(photos / other)], embedder)


def tilted(photo: Image, degrees: float) -> Image:
    """A photo on paper, turned about the vertical before a camera at twice its height's distance."""
    height, width = photo.shape[:2]
    scale, angle, distance = 600 / height, np.radians(degrees), 1200.0
    corners = np.array([[-width, -height], [width, -height], [width, height], [-width, height]]) * scale / 2
    depth = distance - corners[:, 0] * np.sin(angle)
    seen = np.stack([corners[:, 0] * np.cos(angle), corners[:, 1]], 1) * distance / depth[:, None]
    matrix = cv2.getPerspectiveTransform(
        np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32),
        np.add(seen, (480, 360)).astype(np.float32),
    )
    return halved(np.asarray(cv2.warpPerspective(photo, matrix, (960, 720), borderValue=(90,) * 3), np.uint8))


@pytest.mark.shared
@pytest.mark.parametrize("name", ["uni_man_frontal.jpg", "uni_man_darkskin.jpg", "astronaut.png"])
def test_a_photo_does_not_pass_however_it_is_held(photos: Path, embedder: Embedder, name: str) -> None:
    photo = read_photo(photos / name)
    flat = read_picture(photos / name, max_side=1200)
    angles = [*range(0, 56, 6), *range(54, -56, -6), *range(-54, 1, 6)]
    still = [tilted(flat, 0)] * 5
    with pytest.raises(RefusedError, match="Not all was seen"):
        match([*still, *(tilted(flat, each) for each in angles), *still * 40], [photo], embedder)


@pytest.mark.shared
def test_kawaris_own_pictures_do_not(clips: Path, embedder: Embedder, tmp_path: Path) -> None:
    images = to_both_sides(clips)
    photo = photo_of(images[20], tmp_path)
    marker = Marker(Payload(1, 1, (0, 1), date(2026, 1, 1)), None)
    for image in images:
        marker.apply(image)
    with pytest.raises(RefusedError, match="Kawari's own"):
        match(images, [photo], embedder)


# ---- without networks ---------------------------------------------------------------------------


class Names:
    """Embeds a picture's first pixel: the person it shows."""

    def embed(self, image: Image, points: np.ndarray) -> np.ndarray:
        return np.eye(3, dtype=np.float32)[image[0, 0, 0] % 3]


@pytest.fixture(scope="module")
def head() -> Face:
    return demo_photo().face


def turned(head: Face, degrees: float, number: int = 1) -> Face:
    angle = np.radians(degrees)
    middle = head.landmarks.mean(0)
    turn = np.array([[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]])
    return replace(
        head, id=number, landmarks=((head.landmarks - middle) @ turn.T + middle).astype(np.float32)
    )


def person(number: int) -> Image:
    return np.full((4, 4, 3), number, np.uint8)


def fill(match: LiveMatch, head: Face, looks: dict[float, int]) -> Pose | None:
    """So many looks at each angle by the person of that number, after a first one that begins."""
    wanted = match.look(person(0), [turned(head, 0)])
    for degrees, number in looks.items():
        for _ in range(LOOKS):
            wanted = match.look(person(number), [turned(head, degrees)])
    return wanted


def test_all_three_poses_are_asked_for(head: Face) -> None:
    match = LiveMatch([np.eye(3)[0]], Names())
    assert match.look(person(0), []) is Pose.FRONT
    assert fill(match, head, {0: 0}) is not Pose.FRONT
    assert fill(match, head, {0: 0, 25: 0, -25: 0}) is None
    assert match.similarities() == (1.0,)


def test_half_a_turn_is_none(head: Face) -> None:
    assert fill(LiveMatch([np.eye(3)[0]], Names()), head, {0: 0, 14: 0, -14: 0}) is not None


@pytest.mark.parametrize("pose", [0, 25, -25])
def test_each_pose_must_be_the_persons(head: Face, pose: float) -> None:
    match = LiveMatch([np.eye(3)[0]], Names())
    assert fill(match, head, {**dict.fromkeys((0, 25, -25), 0), pose: 1}) is None
    assert match.similarities() == (0.0,)


def test_who_changes_places_begins_anew(head: Face) -> None:
    match = LiveMatch([np.eye(3)[0]], Names())
    fill(match, head, {0: 0, 25: 0})
    assert match.look(person(0), [turned(head, -25, number=2)]) is Pose.FRONT
    fill(match, head, {0: 0, 25: 0})
    assert match.look(person(0), []) is Pose.FRONT


def test_a_camera_that_ends_is_an_error(head: Face) -> None:
    with pytest.raises(DeviceError):
        match_live(Played([]), make_tracker(), [demo_photo()], Names(), ask=lambda _: None)


def test_patience_ends(head: Face) -> None:
    image = read_picture(portrait_path())
    asked: list[Pose] = []
    with pytest.raises(RefusedError, match="within 1 s: look into"):
        match_live(
            Played([np.zeros_like(image)] * 60), make_tracker(), [demo_photo()], Names(),
            ask=asked.append, seconds=1, clock=lambda frame: frame.seconds,
        )  # fmt: skip
    assert asked == [Pose.FRONT]
