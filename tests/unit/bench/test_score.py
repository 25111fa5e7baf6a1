"""The judge itself is judged: an unchanged face must score 0, the real person 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.bench.identity import IdentityNetwork
from app.bench.looking import Observer
from app.bench.material import IDENTITY_MODEL, read_frame, read_frames
from app.bench.quality import luminance
from app.bench.score import PairFigures, PairScore
from engine.errors import InputError, ModelError

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def observer(shared: Path) -> Observer:
    return Observer(IdentityNetwork(shared / "data" / "models" / IDENTITY_MODEL))


def judge(observer: Observer, clips: Path, target: str, output: str, start: int) -> PairFigures:
    """`target` swapped for the person of `rope`, if the swap made the frames of `output`."""
    seen = []
    for number in (255, 90):
        image = read_frame(clips / "rope_target_2048x1080.mp4", number)
        points = observer.find(image)
        assert points is not None
        seen.append(observer.identify(image, points))
    inputs = [frame.image for frame in read_frames(clips / target, 0, 24)]
    outputs = [frame.image for frame in read_frames(clips / output, start, 24)]
    people = []
    for image in inputs[::8]:
        points = observer.find(image)
        assert points is not None
        people.append(observer.identify(image, points))
    score = PairScore(seen[0], seen[1:], people)
    for number, (image, made) in enumerate(zip(inputs, outputs, strict=True)):
        before, after = observer.find(image), observer.find(made)
        assert before is not None
        assert after is not None
        light = (luminance(image, before), luminance(made, after))
        score.add(before, after, intended=after, light=light)
        if number % 6 == 0:
            score.identify(observer.identify(image, before), observer.identify(made, after))
    return score.figures()


def test_an_unchanged_face_scores_nothing(observer: Observer, clips: Path) -> None:
    figures = judge(observer, clips, "lp_d18_expressions.mp4", "lp_d18_expressions.mp4", 0)
    assert figures.nearer == 0
    assert figures.gap == pytest.approx(0, abs=1e-6)
    assert figures.error == pytest.approx(0, abs=1e-6)
    assert figures.flicker == pytest.approx(1)


def test_the_source_person_scores_full_marks(observer: Observer, clips: Path) -> None:
    figures = judge(observer, clips, "lp_d18_expressions.mp4", "rope_target_2048x1080.mp4", 170)
    assert figures.nearer == figures.nearer_same == 1
    assert figures.gap is not None
    assert 0.8 < figures.gap < 1.2


def test_a_face_that_vanished_is_not_nearer(observer: Observer, clips: Path) -> None:
    image = read_frame(clips / "lp_s18_720p.mp4", 0)
    points = observer.find(image)
    assert points is not None
    who = observer.identify(image, points)
    score = PairScore(who, [], [who])
    score.add(points, None, intended=points, light=(1, 1))
    score.identify(who, None)
    assert score.figures().nearer == 0


def test_strangers_are_far_and_mirrors_near(observer: Observer, clips: Path) -> None:
    image = read_frame(clips / "lp_s18_720p.mp4", 0)
    mirrored = np.ascontiguousarray(image[:, ::-1])
    other = read_frame(clips / "vrt_1_vfr.mp4", 0)
    found = [observer.find(one) for one in (image, mirrored, other)]
    who = [
        observer.identify(one, points)
        for one, points in zip((image, mirrored, other), found, strict=True)
        if points is not None
    ]
    assert len(who) == 3
    assert float(who[0] @ who[1]) > 0.9
    assert float(who[0] @ who[2]) < 0.35


def test_a_missing_network_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="--identity-model") as caught:
        IdentityNetwork(tmp_path / "none.onnx")
    assert caught.value.exit_code == 5


def test_a_network_of_another_kind_is_refused(shared: Path) -> None:
    with pytest.raises(ModelError, match="112"):
        IdentityNetwork(shared / "data" / "models" / "yunet_n_dynamic.onnx")
    with pytest.raises(ModelError):
        IdentityNetwork(shared / "data" / "models" / "html_instead_of_model.onnx")


def test_a_broken_clip_is_an_input_error(clips: Path) -> None:
    with pytest.raises(InputError):
        list(read_frames(clips / "d_empty.mp4"))
    with pytest.raises(InputError):
        read_frame(clips / "lp_d0_greenscreen.mp4", 10_000)
