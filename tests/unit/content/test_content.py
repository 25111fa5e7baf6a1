from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import av
import numpy as np
import pytest
from skimage.data import astronaut

from app.cli import run
from engine.content.gate import PhotoGate
from engine.content.judges import Judge
from engine.content.nudity import THRESHOLD, NudityCheck
from engine.content.watch import ContentWatch
from engine.errors import RefusedError
from engine.identity.demo import portrait_path
from engine.identity.import_photo import PhotoReader
from engine.identity.picture import read_picture
from engine.sinks.base import StreamInfo
from engine.types import Frame, Output, Shown
from tests.make_clip import moving, write_clip
from tests.unit.content.covering import why_covered

SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def check() -> NudityCheck:
    return NudityCheck()


def output(at_s: float, level: int, reason: str = "") -> Output:
    image = np.full((8, 8, 3), level, np.uint8)
    shown = Shown.COVERED if reason else Shown.SWAPPED
    return Output(Frame(0, int(at_s * SECOND), image), image, shown=shown, reason=reason)


def bright(judged: list[float]) -> Callable[[], Sequence[Judge]]:
    """A judge that sees what it must not see in bright pictures."""

    def sees(output: Output) -> bool:
        judged.append(float(output.image[0, 0, 0]) / 255)
        return judged[-1] >= THRESHOLD

    return lambda: [Judge(sees, "Too bright")]


def watch(levels: list[int], rate: float = 1.0, reason: str = "", *, ends: bool = False) -> tuple[int, int]:
    """How often the cover was called, and how many pictures were judged."""
    covers: list[str] = []
    judged: list[float] = []
    sink = ContentWatch(covers.append, bright(judged))
    sink.open(StreamInfo(8, 8, 30, live=True))
    for index, level in enumerate(levels):
        sink.write(output(index / rate, level, reason))
    if ends:
        sink.settle()
    sink.close()
    assert set(covers) <= {"Too bright"}
    return len(covers), len(judged)


def test_two_of_three_positives_cover() -> None:
    assert watch([0, 255, 0, 255]) == (1, 4)
    assert watch([255, 255]) == (1, 2)


def test_single_positives_do_not() -> None:
    assert watch([0, 255, 0, 0, 255, 0, 0])[0] == 0


def test_one_picture_a_second_is_judged() -> None:
    assert watch([0] * 300, rate=30)[1] == 10


def test_the_networks_are_loaded_before_pictures_flow_or_with_the_first() -> None:
    for opens in (True, False):
        made: list[str] = []
        sink = ContentWatch(made.append, lambda made=made: (made.append("judges"), bright([])())[1])
        if opens:
            sink.open(StreamInfo(8, 8, 30, live=True))
        assert made == ["judges"] * opens
        for second in (0, 1):
            sink.write(output(second, 255))
        assert made == ["judges", "Too bright"]


def test_what_is_covered_whole_is_not_judged_what_the_guard_covers_is() -> None:
    assert watch([255] * 5, reason="panic") == (0, 0)
    assert watch([255] * 2, reason="not-swapped") == (1, 2)


@pytest.mark.parametrize(
    ("levels", "covers"), [([], 0), ([255], 1), ([0], 0), ([0, 255], 0), ([255, 0, 0], 0), ([0, 0, 255], 0)]
)
def test_at_the_end_of_a_short_clip_most_looks_decide(levels: list[int], covers: int) -> None:
    assert watch(levels, ends=True)[0] == covers


def test_an_ordinary_portrait_is_clean(check: NudityCheck) -> None:
    portrait = np.ascontiguousarray(astronaut()[..., ::-1])
    assert check.score(portrait) < 0.2
    check.require_clean(portrait)


def test_a_photo_over_the_threshold_is_refused(check: NudityCheck, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "score", lambda _: THRESHOLD)
    with pytest.raises(RefusedError, match="nudity"):
        check.require_clean(np.zeros((8, 8, 3), np.uint8))


@pytest.mark.shared
def test_no_false_alarm_on_any_shared_photo(check: NudityCheck, photos: Path) -> None:
    judged = 0
    for path in sorted(photos.iterdir()):
        try:
            image = read_picture(path)
        except Exception:  # noqa: BLE001 - the broken ones have tests of their own
            continue
        assert check.score(image) < THRESHOLD, path.name
        judged += 1
    assert judged >= 25


@pytest.mark.shared
def test_no_false_cover_on_any_shared_clip(check: NudityCheck, clips: Path) -> None:
    judged = 0
    for path in sorted(clips.iterdir()):
        covers: list[str] = []
        second = 0
        nudity = Judge(lambda output: check.score(output.image) >= THRESHOLD, "")
        sink = ContentWatch(covers.append, lambda: [nudity])  # noqa: B023 - called within the loop
        sink.open(StreamInfo(8, 8, 30, live=True))
        try:
            with av.open(path) as container:
                stream = container.streams.video[0]
                for frame in container.decode(stream):
                    if frame.time is not None and frame.time >= second:
                        second += 1
                        image = frame.to_ndarray(format="bgr24")
                        sink.write(Output(Frame(0, int(frame.time * SECOND), image), image))
                        judged += 1
        except av.error.InvalidDataError:
            continue
        assert not covers, path.name
    assert judged >= 80


def test_the_gate_lets_known_photos_pass_and_stops_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    judged: list[tuple[int, ...]] = []

    def score(_: NudityCheck, image: np.ndarray) -> float:
        judged.append(image.shape)
        return 1.0

    monkeypatch.setattr(NudityCheck, "score", score)
    path = portrait_path()
    known: set[str] = set()
    reader = PhotoReader(screen=PhotoGate(known.__contains__, tmp_path))
    with pytest.raises(RefusedError, match="nudity"):
        reader.read(path)
    assert judged == [(512, 512, 3)]  # the whole photo, not only the face
    known.add(PhotoReader().read(path).digest)
    assert reader.read(path)
    assert len(judged) == 1


def test_the_command_line_refuses_with_its_own_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(NudityCheck, "score", lambda *_: 1.0)
    portrait = str(portrait_path())
    arguments = ["run", "--source", portrait, "--input", portrait, "--output", str(tmp_path / "o.png")]
    assert run([*arguments, "--consent", "fictional"]) == 6
    assert "nudity" in capsys.readouterr().err
    assert not (tmp_path / "o.png").exists()


def test_a_session_is_covered_and_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(NudityCheck, "score", lambda *_: 1.0)
    assert "nudity" in why_covered()


@pytest.mark.parametrize("target", ["picture", "clip"])
def test_an_export_is_refused_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "home"))
    portrait = str(portrait_path())
    source = portrait if target == "picture" else str(write_clip(tmp_path / "clip.mp4", moving(75)))
    output = tmp_path / ("o.png" if target == "picture" else "o.mp4")
    arguments = ["run", "--source", portrait, "--consent", "public-domain", "--output", str(output)]
    before = sorted(tmp_path.iterdir())
    assert run([*arguments, "--input", source]) == 0
    output.unlink()
    monkeypatch.setattr(NudityCheck, "score", lambda *_: 1.0)
    capsys.readouterr()
    assert run([*arguments, "--input", source]) == 6
    assert "nudity, so nothing was written" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "home"])
