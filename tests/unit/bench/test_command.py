from __future__ import annotations

import argparse

import pytest

from app.bench.cli import add_parser, pick
from app.bench.material import CLIPS, DEFAULT_PEOPLE, PEOPLE
from app.bench.scene import Scene, portrait_face
from app.cli import run
from engine.errors import UsageError
from engine.track.detector import Detector


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    add_parser(made.add_subparsers())
    return made


@pytest.mark.parametrize("bench", ["quality", "pipeline", "latency", "soak"])
def test_every_bench_knows_json_and_check(bench: str) -> None:
    args = parser().parse_args(["bench", bench, "--json", "--check"])
    assert args.json
    assert args.check
    assert callable(args.execute)


@pytest.mark.parametrize("line", ["quality --frames 0", "soak --minutes -1", "latency --fps nan", ""])
def test_nonsense_is_a_usage_error(line: str) -> None:
    with pytest.raises(SystemExit) as caught:
        parser().parse_args(["bench", *line.split()])
    assert caught.value.code == 2


def test_names_are_picked_by_their_parts() -> None:
    assert [one.name for one in pick(CLIPS, "s18, d20", lambda clip: clip.name)] == [
        "lp_s18_720p",
        "lp_d20_dark",
    ]
    assert pick(CLIPS, None, lambda clip: clip.name) == list(CLIPS)
    with pytest.raises(UsageError, match="lp_s18_720p"):
        pick(CLIPS, "nobody", lambda clip: clip.name)


def test_the_default_people_exist_and_three_have_another_photo() -> None:
    people = {person.name: person for person in PEOPLE}
    assert sum(bool(people[name].references) for name in DEFAULT_PEOPLE) >= 3


def test_without_data_the_error_says_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    empty = tmp_path_factory.mktemp("empty")
    assert run(["bench", "quality", "--data", str(empty)]) == 5
    captured = capsys.readouterr()
    assert "--identity-model" in captured.err
    assert captured.out == ""
    assert run(["bench", "soak", "--data", str(empty)]) == 3


def test_a_scene_has_the_faces_it_promises() -> None:
    width = portrait_face()[2]
    assert 60 < width < 200
    for faces in (1, 2):
        frame = Scene(1280, 720, 250, faces).frames(4)[1]
        assert frame.image.shape == (720, 1280, 3)
        assert len(Detector().detect(frame.image)) == faces
