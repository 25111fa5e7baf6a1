"""Faces of people who lie down or stand on their head, and rooms in which there are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.runtime.session import open_session
from engine.track.base import FaceDetector
from engine.track.detector import Detector
from engine.track.landmarks import Landmarker
from engine.track.scrfd import Scrfd
from engine.track.tracker import Tracker, TrackOptions
from engine.track.turns import TURNS, Rota, boxes_back, points_back, turn_of, turned
from engine.types import Detection, Image
from tests.unit.track.film import frame, moved

GREY = np.full((480, 640, 3), 110, np.uint8)


class Looks:
    """The real detector, keeping which turns it was asked for."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self.turns: list[int] = []

    def detect(self, image: Image, *, min_score: float | None = None, turn: int = 0) -> list[Detection]:
        self.turns.append(turn)
        return self._detector.detect(image, min_score=min_score, turn=turn)

    def taken(self) -> list[int]:
        taken, self.turns = self.turns, []
        return taken


@pytest.mark.parametrize("turn", [0, *TURNS])
def test_points_and_boxes_come_back_where_they_were(turn: int) -> None:
    square = np.zeros((9, 9, 3), np.uint8)
    square[2, 7] = 255
    there = turned(square, turn)
    assert (there == np.rot90(square, turn)).all()
    y, x = np.argwhere(there[..., 0])[0].astype(np.float32)
    assert points_back(np.array([[x, y]], np.float32), turn, 8).tolist() == [[7, 2]]
    box = np.array([[x, y, x + 1, y + 1]], np.float32)
    assert boxes_back(box, turn, 9).tolist() == [[7, 2, 8, 3]]


def _check(detector: FaceDetector, astronaut: Image, turn: int) -> None:
    canvas = np.full((560, 900, 3), 60, np.uint8)
    canvas[30:542, 100:612] = astronaut
    (true,) = detector.detect(canvas)
    rolled = np.ascontiguousarray(np.rot90(canvas, -turn))
    (found,) = detector.detect(rolled, turn=turn)
    # the picture is turned, so its points are; a picture of H×W pixels has its last ones at W−1, H−1
    x, y = found.keypoints.T
    height, width = rolled.shape[:2]
    back = {1: (y, width - 1 - x), 2: (width - 1 - x, height - 1 - y), 3: (height - 1 - y, x)}[turn]
    assert np.abs(np.stack(back, 1) - true.keypoints)[:4].max() < 2.5 * 900 / 192
    assert found.score == pytest.approx(true.score, abs=0.1)
    sides, true_sides = (each.box[2:] - each.box[:2] for each in (found, true))
    assert (sides if turn == 2 else sides[::-1]) == pytest.approx(true_sides, abs=2.5 * 900 / 192)


@pytest.mark.parametrize("turn", TURNS)
def test_a_turned_look_finds_a_turned_face_in_its_place(
    astronaut: Image, detector: Detector, turn: int
) -> None:
    _check(detector, astronaut, turn)


@pytest.mark.shared
@pytest.mark.parametrize("turn", TURNS)
def test_so_does_a_detector_of_the_catalogue(astronaut: Image, shared: Path, turn: int) -> None:
    path = shared / "data" / "models" / "scrfd_500m_kps__hpc203.onnx"
    _check(Scrfd(open_session(path)), astronaut, turn)


@pytest.mark.parametrize("angle", [90, 180, 270, 120])
@pytest.mark.parametrize("thorough", [False, True])
def test_a_rolled_face_is_found_and_followed(
    astronaut: Image, detector: Detector, landmarker: Landmarker, angle: int, thorough: bool
) -> None:
    upright = Tracker(detector, landmarker, TrackOptions(smoothing=None))
    (true,) = upright.update(frame(0, moved(astronaut, 320, 240)))
    tracker = Tracker(detector, landmarker, TrackOptions(smoothing=None, thorough=thorough))
    matrix = np.array(
        [[np.cos(a := np.deg2rad(angle)), np.sin(a)], [-np.sin(a), np.cos(a)]]
    )  # OpenCV's angles: counter-clockwise on the screen
    first, ids = None, set()
    for i in range(24):
        x, y = 320 + 60 * np.sin(i / 4), 240 + 40 * np.sin(i / 3)
        faces = tracker.update(frame(i, moved(astronaut, x, y, angle=angle)))
        if first is None and faces:
            first = i
        if first is None:
            continue
        (face,) = faces
        ids.add(face.id)
        assert face.carried == 0 and tracker.doubtful == ()
        expected = (true.landmarks[:, :2] - (320, 240)) @ matrix.T + (x, y)
        gap = np.hypot(*(face.landmarks[:, :2] - expected).T).mean() / true.width
        assert gap < 0.04
    assert first == 0, "no frame shows it unseen"
    assert ids == {0}


def test_the_turn_of_a_face(astronaut: Image, detector: Detector, landmarker: Landmarker) -> None:
    for turn, angle in ((0, 20), (1, -90), (1, -70), (2, 180), (2, 170), (3, 100)):
        tracker = Tracker(detector, landmarker, TrackOptions(thorough=True))
        (face,) = tracker.update(frame(0, moved(astronaut, 320, 240, angle=angle)))
        assert turn_of(face.landmarks) == turn


def test_an_empty_room_is_looked_at_in_all_turns_in_every_frame(
    detector: Detector, landmarker: Landmarker
) -> None:
    looks = Looks(detector)
    tracker = Tracker(looks, landmarker)
    for i in range(9):
        assert tracker.update(frame(i, GREY)) == ()
        assert tracker.looked and looks.taken() == [0, *TURNS]


def test_a_thorough_look_takes_all_turns_though_a_face_is_followed(
    astronaut: Image, detector: Detector, landmarker: Landmarker
) -> None:
    looks = Looks(detector)
    tracker = Tracker(looks, landmarker, TrackOptions(thorough=True, detect_every=1))
    for i in range(3):
        assert len(tracker.update(frame(i, moved(astronaut, 320, 240)))) == 1
        assert tracker.looked and looks.taken() == [0, *TURNS]


def test_a_rolled_face_is_looked_for_in_its_roll_while_it_is_carried(
    astronaut: Image, detector: Detector, landmarker: Landmarker
) -> None:
    looks = Looks(detector)
    tracker = Tracker(looks, landmarker, TrackOptions(carry_seconds=0.1))
    shown = moved(astronaut, 320, 240, angle=180)
    count = 0
    while not tracker.update(frame(count, shown)):
        count += 1
    (face,) = tracker.update(frame(count + 1, shown))
    count += 2
    looks.taken()
    while tracker.update(frame(count, GREY)):
        assert looks.taken() == [0, 2], "while it is carried, it is looked for in its roll"
        count += 1
    (doubt,) = tracker.doubtful  # followed until now, and not found again
    assert np.abs(np.array(doubt) - face.box).max() < 0.3 * face.width
    tracker.update(frame(count + 1, GREY))
    assert tracker.looked and tracker.doubtful == ()
    assert len(tracker.update(frame(count + 2, shown))) == 1, "seen in its first frame"


def test_the_rota() -> None:
    rota = Rota()
    assert [rota.take() for _ in range(6)] == [*TURNS, *TURNS]
    rota.prefer(2)
    assert rota.take() == 2
    rota.prefer(0)
    seen = [rota.take({1}) for _ in range(8)]
    assert seen[::2] == [1] * 4 and set(seen[1::2]) == {2, 3}, "a doubtful turn starves no other"
    assert not rota.due_between(4)
    for _ in range(5):
        rota.frame()
    assert rota.due_between(4)
    assert not rota.due_between(0), "not right beside an upright look"
    assert not rota.due_between(8), "one between two upright looks is enough"
    assert not rota.overdue
