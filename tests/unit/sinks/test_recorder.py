from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine.errors import DeviceError, UsageError
from engine.sinks.base import StreamInfo
from engine.sinks.encoder import Codec
from engine.sinks.recorder import Recorder
from engine.sinks.recording import RECORDING_SUFFIXES
from engine.sinks.split import Split
from engine.sources.file import FileSource
from engine.types import Frame, Image, Output
from tests.make_clip import colour_bars, moving

ROOT = Path(__file__).resolve().parents[3]


def record(recorder: Recorder, images: list[Image], milliseconds: list[float]) -> None:
    height, width = images[0].shape[:2]
    recorder.open(StreamInfo(width, height, 30, live=True))
    for i, (image, at) in enumerate(zip(images, milliseconds, strict=True)):
        frame = Frame(i, int(5e15 + at * 1e6), image)
        recorder.write(Output(frame, image))
    recorder.close()


def read_all(path: Path) -> list[Frame]:
    source = FileSource(path)
    source.open()
    frames = list(iter(source.read, None))
    source.close()
    return frames


@pytest.mark.parametrize("suffix", RECORDING_SUFFIXES)
def test_pictures_and_their_times_come_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"ünï{suffix}"
    times = [0, 33, 66, 120, 130, 300]
    record(Recorder(path), moving(6), times)
    frames = read_all(path)
    assert [f.pts * 1000 for f in frames if f.pts is not None] == pytest.approx(times, abs=1)
    error = [np.abs(f.image.astype(int) - m).mean() for f, m in zip(frames, moving(6), strict=True)]
    assert max(error) < 6


def test_colours_are_right(tmp_path: Path) -> None:
    record(
        Recorder(tmp_path / "c.mp4", codec=Codec("libx264", {"crf": "4"}, odd_sizes=False)),
        [colour_bars()] * 3,
        [0, 30, 60],
    )
    seen = read_all(tmp_path / "c.mp4")[1].image
    middles = np.s_[32, 32::64]
    assert np.abs(seen[middles].astype(int) - colour_bars()[middles]).max() <= 6


def test_odd_sizes_lose_a_row_and_other_sizes_are_fitted(tmp_path: Path) -> None:
    path = tmp_path / "o.mp4"
    odd, other = moving(1, 97, 65)[0], np.full((100, 50, 3), 200, np.uint8)
    record(Recorder(path), [odd, odd, other], [0, 33, 66])
    frames = read_all(path)
    assert {f.image.shape for f in frames} == {(64, 96, 3)}
    assert frames[2].image[:, :20].max() < 30
    assert frames[2].image[:, 40:56].min() > 180


def test_a_picture_shown_again_gets_a_time_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "h.mkv"
    record(Recorder(path), moving(4), [0, 33, 33, 20])
    assert len(read_all(path)) == 4


def test_nothing_recorded_leaves_no_file(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "n.mp4")
    recorder.open(StreamInfo(64, 64, 30, live=True))
    recorder.close()
    recorder.close()
    assert list(tmp_path.iterdir()) == []


def test_bad_names(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="record"):
        Recorder(tmp_path / "a.xyz")
    with pytest.raises(UsageError, match="folder"):
        Recorder(tmp_path / "none" / "a.mp4").open(StreamInfo(64, 64, 30, live=True))


_KILLED = """
import os, signal, sys
from pathlib import Path
from tests.unit.sinks.test_recorder import record
from tests.make_clip import moving
from engine.sinks.recorder import Recorder
recorder = Recorder(sys.argv[1])
recorder.close = lambda: os.kill(os.getpid(), signal.SIGKILL)
record(recorder, moving(150), [i * 33 for i in range(150)])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
@pytest.mark.parametrize("suffix", RECORDING_SUFFIXES)
def test_a_killed_process_leaves_a_playable_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"k{suffix}"
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(path)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(read_all(path)) >= 150 - 30  # but for the last second


_FULL = """
import resource, sys
from engine.errors import DeviceError
from tests.unit.sinks.test_recorder import noise, record
from engine.sinks.recorder import Recorder
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    record(Recorder(sys.argv[1]), noise(200), [i * 33 for i in range(200)])
except DeviceError as error:
    print(error)
"""


def noise(count: int) -> list[Image]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 255, (128, 128, 3), dtype=np.uint8) for _ in range(count)]


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_a_full_disk_is_reported_and_what_was_recorded_stays(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"f{suffix}"
    done = subprocess.run([sys.executable, "-c", _FULL, str(path)], cwd=ROOT, capture_output=True, text=True)
    assert "no room left" in done.stdout, done.stderr
    assert len(read_all(path)) >= 1


_FULL_AT_THE_END = """
import resource, sys
from engine.errors import DeviceError
from tests.unit.sinks.test_recorder import noise, record
from engine.sinks.recorder import Recorder
told = []
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    record(Recorder(sys.argv[1], warn=told.append), noise(40), [i * 33 for i in range(40)])
except DeviceError as error:
    print(error)
print(told)
"""


def test_a_disk_that_fills_up_while_the_file_is_finished(tmp_path: Path) -> None:
    """The index has no room: the fragments that are there must not be hidden by half of one."""
    record(Recorder(tmp_path / "whole.mp4"), noise(40), [i * 33 for i in range(40)])
    whole = (tmp_path / "whole.mp4").stat().st_size
    for missing in (1, 100, 400, 1000, 3000):
        path = tmp_path / f"{missing}.mp4"
        done = subprocess.run(
            [sys.executable, "-c", _FULL_AT_THE_END, str(path), str(whole - missing)],
            cwd=ROOT, capture_output=True, text=True,
        )  # fmt: skip
        assert done.stdout.count("no room left") >= 1, done.stderr
        assert len(read_all(path)) >= 30, missing


def test_there_is_nothing_to_wait_for_before_it_is_open(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a.mp4", encoder="h264_none")
    assert recorder.wait(0)
    with pytest.raises(DeviceError, match="h264_none can't be used"):
        recorder.open(StreamInfo(64, 64, 30, live=True))
    assert recorder.wait(0) and list(tmp_path.iterdir()) == []
    recorder = Recorder(tmp_path / "a.mp4")
    recorder.open(StreamInfo(64, 64, 30, live=True))
    assert not recorder.wait(0)
    recorder.close()
    assert recorder.wait(0)


def test_pausing_and_splitting_by_hand(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "p.mp4")
    images = moving(12)
    recorder.open(StreamInfo(96, 64, 30, live=True))
    for i, image in enumerate(images):
        if i == 4:
            recorder.pause()
        if i == 8:
            recorder.pause(False)
            assert not recorder.paused
        if i == 10:
            recorder.split()
        recorder.write(Output(Frame(i, i * 33_000_000, image), image))
    recorder.close()
    assert recorder.wait(0)
    first, second = read_all(tmp_path / "p.mp4"), read_all(tmp_path / "p_002.mp4")
    assert [f.pts * 1000 for f in first] == pytest.approx([0, 33, 66, 99, 132, 165], abs=2)
    assert len(second) == 2 and second[0].pts == 0


def test_files_stay_below_the_size(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "s.mkv", split=Split(bytes=500_000))
    record(recorder, noise(200), [i * 33 for i in range(200)])
    parts = sorted(tmp_path.iterdir())
    assert len(parts) >= 3 and all(part.stat().st_size <= 500_000 for part in parts)
    assert sum(len(read_all(part)) for part in parts) == 200


def test_a_file_that_can_not_be_signed_is_told_and_kept(tmp_path: Path) -> None:
    def refuse(path: Path) -> None:
        raise DeviceError(f"{path.name} can't be signed", "Free some space")

    told: list[str] = []
    recorder = Recorder(tmp_path / "u.mp4", finish=refuse, warn=told.append)
    with pytest.raises(DeviceError, match="signed"):
        record(recorder, moving(4), [0, 33, 66, 99])
    assert told == ["u.mp4: u.mp4 can't be signed. Free some space."]
    assert len(read_all(tmp_path / "u.mp4")) == 4
