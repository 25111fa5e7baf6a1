"""The hint that photos may show different people: rare for one person, given for clear mix-ups."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import av
import numpy as np
import pytest

from engine.identity.demo import demo_photo
from engine.identity.import_photo import PhotoReader
from engine.identity.likeness import OTHER_PERSON, shape_distance, with_doubts
from engine.track.stills import find_faces

PEOPLE = ["uni_man_frontal.jpg", "uni_man_darkskin.jpg", "lite_face_fills_frame.jpg", "lp_monalisa.jpg",
          "lp_statue.jpg", "human_hands_on_head.jpg", "astronaut.png", "lp_mouth_open.jpg"]  # fmt: skip


def test_distance_ignores_size_place_and_roll() -> None:
    face = demo_photo().face.landmarks
    angle = np.radians(25)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    moved = (face @ turn.T * 2.5 + (300, -40, 7)).astype(np.float32)
    assert shape_distance(face, moved) < 1e-3
    assert shape_distance(face, face * np.array([1, 1.2, 1], np.float32)) > 0.3


@pytest.mark.shared
@pytest.mark.parametrize("clip", ["lp_s18_720p.mp4", "lp_d0_greenscreen.mp4"])
def test_one_person_is_never_doubted(clip: str, clips: Path) -> None:
    with av.open(str(clips / clip)) as container:
        frames = [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)][:120:30]
    faces = [find_faces(frame)[0].landmarks for frame in frames]
    assert max(shape_distance(a, b) for a, b in combinations(faces, 2)) < OTHER_PERSON


@pytest.mark.shared
def test_many_mix_ups_are_found_and_said(photos: Path) -> None:
    reader = PhotoReader()
    people = [reader.read(photos / name) for name in PEOPLE]
    pairs = list(combinations(people, 2))
    doubted = [pair for pair in pairs if with_doubts(pair)[1].quality.hints != pair[1].quality.hints]
    assert len(doubted) >= len(pairs) / 4
    for pair in doubted:
        first, second = with_doubts(pair)
        assert first.quality.hints == pair[0].quality.hints
        assert "same person" in second.quality.hints[0]
        assert with_doubts((pair[1], *pair))[2].quality.hints == pair[1].quality.hints  # like the first
