"""Following faces through real frames."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from engine.track.detector import Detector
from engine.track.landmarks import Landmarker, Region
from engine.track.tracker import Tracker, TrackOptions
from engine.types import Detection, Image, Points
from tests.unit.track.film import clip, frame, moved

RAW = TrackOptions(smoothing=None)
GREY = np.full((480, 640, 3), 110, np.uint8)


class CountingDetector(Detector):
    """The real one, counting how often it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[int] = []

    def detect(self, image: Image, *, min_score: float | None = None, turn: int = 0) -> list[Detection]:
        self.turns.append(turn)
        return super().detect(image, min_score=min_score, turn=turn)


class CountingLandmarker(Landmarker):
    """The real one, counting how often it looks."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def locate(self, image: Image, region: Region) -> tuple[Points, float]:
        self.looks += 1
        return super().locate(image, region)


def test_a_mouth_that_opens_is_looked_at_twice_and_a_resting_one_once(
    astronaut: Image, detector: Detector
) -> None:
    landmarker = CountingLandmarker()
    tracker = Tracker(detector, landmarker)
    closed = moved(astronaut, 320, 240, scale=2)
    face = tracker.update(frame(0, closed))[0]
    corners = face.landmarks[[61, 291], :2]
    width = float(np.hypot(*(corners[1] - corners[0])))
    x, y = corners.mean(0) + np.array([0, 0.15 * width])
    wide = closed.copy()
    cv2.ellipse(
        wide, (round(x), round(y)), (round(0.3 * width), round(0.3 * width)), 0, 0, 360, (10, 10, 30), -1
    )
    looks = []
    for i, image in enumerate([closed, closed, closed, wide, closed]):
        before = landmarker.looks
        tracker.update(frame(i + 1, image))
        looks.append(landmarker.looks - before)
    assert looks == [1, 1, 1, 2, 2]


def test_a_still_face_is_still(astronaut: Image, detector: Detector, landmarker: Landmarker) -> None:
    random = np.random.default_rng(0)
    tracker = Tracker(detector, landmarker)
    still = moved(astronaut, 320, 240, scale=2).astype(np.int16)
    seen = []
    for i in range(60):
        noisy = np.clip(still + random.normal(0, 3, still.shape), 0, 255).astype(np.uint8)
        seen.append(tracker.update(frame(i, noisy))[0].landmarks)
    points = np.array(seen[20:])
    eyes = np.hypot(*(points[:, 468, :2] - points[:, 473, :2]).T).mean()
    step = np.diff(points[:, :468, :2], axis=0)
    assert np.hypot(step[..., 0], step[..., 1]).mean() / eyes < 0.0006


def test_fast_motion_keeps_the_face_and_its_place(
    astronaut: Image, detector: Detector, landmarker: Landmarker
) -> None:
    tracker, ids = Tracker(detector, landmarker), set()
    start = None
    for i in range(60):  # half a face width a frame at the fastest
        x, y = 320 + 150 * np.sin(i / 4), 240 + 60 * np.sin(i / 3)
        faces = tracker.update(frame(i, moved(astronaut, x, y)))
        assert len(faces) == 1 and faces[0].carried == 0
        ids.add(faces[0].id)
        relative = faces[0].landmarks[:, :2] - (x, y)
        start = relative if start is None else start
        assert np.hypot(*(relative - start).T).mean() / faces[0].width < 0.03
    assert ids == {0}


def test_the_detector_rests_while_faces_are_followed(astronaut: Image, landmarker: Landmarker) -> None:
    detector = CountingDetector()
    tracker = Tracker(detector, landmarker, TrackOptions(detect_every=15))
    for i in range(46):
        tracker.update(frame(i, moved(astronaut, 300 + i, 240)))
    assert detector.turns == [0, 1, 0, 3, 0, 2, 0, 1]
    tracker = Tracker(detector, landmarker, TrackOptions(max_faces=1))
    for i in range(46):
        tracker.update(frame(i, moved(astronaut, 300 + i, 240)))
    assert len(detector.turns) == 8 + 1


def test_a_face_that_leaves_is_lost_in_the_stated_time_and_found_again(
    astronaut: Image, detector: Detector, landmarker: Landmarker
) -> None:
    tracker = Tracker(detector, landmarker, TrackOptions(carry_seconds=0.31))
    shown = moved(astronaut, 320, 240)
    for i in range(5):
        assert tracker.update(frame(i, shown))
    carried = [tracker.update(frame(i, GREY)) for i in range(5, 20)]
    assert [bool(faces) for faces in carried] == [i < 9 for i in range(15)]
    assert [faces[0].carried for faces in carried[:9]] == list(range(1, 10))
    back = tracker.update(frame(20, shown))
    assert len(back) == 1 and back[0].carried == 0


def test_one_missed_frame_keeps_the_id(astronaut: Image, detector: Detector, landmarker: Landmarker) -> None:
    tracker = Tracker(detector, landmarker)
    for i in range(30):
        image = GREY if i % 10 == 9 else moved(astronaut, 300 + 3 * i, 240)
        assert [face.id for face in tracker.update(frame(i, image))] == [0]


def test_a_change_of_size_starts_afresh(astronaut: Image, detector: Detector, landmarker: Landmarker) -> None:
    tracker = Tracker(detector, landmarker)
    tracker.update(frame(0, moved(astronaut, 320, 240)))
    faces = tracker.update(frame(1, astronaut))
    assert len(faces) == 1 and faces[0].carried == 0
    assert abs(faces[0].landmarks[:, 0].mean() - 224) < 5


def test_several_faces_and_the_limit(astronaut: Image, detector: Detector, landmarker: Landmarker) -> None:
    row = np.concatenate([astronaut[:400, 60:400]] * 3, 1)
    for limit in (1, 2, 4):
        tracker = Tracker(detector, landmarker, TrackOptions(max_faces=limit))
        for i in range(3):
            faces = tracker.update(frame(i, row))
            assert len(faces) == len({face.id for face in faces}) == min(limit, 3)


def test_no_face(detector: Detector, landmarker: Landmarker) -> None:
    tracker = Tracker(detector, landmarker)
    for i, size in enumerate([(480, 640), (480, 640), (1, 1), (3, 900)]):
        assert tracker.update(frame(i, np.zeros((*size, 3), np.uint8))) == ()


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "faces"),
    [
        ("lp_s18_720p.mp4", 1),
        ("lp_d3_closeup_flicker.mp4", 1),
        ("lp_d20_dark.mp4", 1),
        ("intel_head_pose_female.gif", 1),
        ("intel_head_pose_female_male.gif", 2),
    ],
)
def test_no_face_is_lost_in_real_clips(
    clips: Path, detector: Detector, landmarker: Landmarker, name: str, faces: int
) -> None:
    tracker, ids = Tracker(detector, landmarker), set()
    for each in clip(clips / name, 60):
        found = tracker.update(each)
        assert len(found) == faces
        ids |= {face.id for face in found}
    assert len(ids) == faces
