"""Sound and pictures of a recording belong together: claps are recorded and found again in the file."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from engine.errors import DeviceError
from engine.sinks.base import StreamInfo
from engine.sinks.encoder import Codec
from engine.sinks.recorder import Recorder
from engine.sinks.split import Split
from engine.sound.tape import Tape
from engine.sources.demo.source import DemoSource
from engine.types import Frame, Image, Output
from tests.claps import DriftingMicrophone, clicks, flashes, offsets_ms

START = 7_000_000_000_000
SIZE = 192, 108
# ten minutes in the time of a test: what matters here are times, not the pictures' quality
QUICK = Codec("libx264", {"crf": "30", "preset": "ultrafast", "tune": "zerolatency"}, odd_sizes=False)


@pytest.fixture(scope="module")
def pictures() -> list[Image]:
    """Two seconds of the demo camera."""
    camera = DemoSource((320, 240), realtime=False)
    camera.open()
    found = [cv2.resize(camera.picture(number), SIZE) for number in range(60)]
    camera.close()
    return found


class Show:
    """Feeds a recorder with claps every few seconds on simulated time, late by a wandering delay.

    The camera's clock is 80 ppm fast and jitters by a millisecond; the microphone's is off by 180 ppm
    and wanders by 60 ppm within three minutes, as a cheap one does that warms up.
    """

    def __init__(self, recorder: Recorder, microphone: DriftingMicrophone, claps: list[int]) -> None:
        self.recorder, self.microphone, self.claps = recorder, microphone, claps
        self.number = 0
        self._rng = np.random.default_rng(3)
        self._delay_ms = 60.0
        self._next_clap = 40

    def captured(self, number: int) -> int:
        jitter_s = np.random.default_rng((3, number)).normal(0, 1e-3)
        return START + round((number / 30 * (1 - 80e-6) + jitter_s) * 1e9)

    def play(self, seconds: float, pictures: list[Image]) -> None:
        white = np.full_like(pictures[0], 255)
        for _ in range(round(seconds * 30)):
            if self.number == self._next_clap - 30:  # the microphone hears it before its picture is here
                self.claps.append(self.captured(self._next_clap))
            image = pictures[self.number % len(pictures)]
            if self.number == self._next_clap:
                image = white
                self._next_clap += int(self._rng.integers(60, 180))
            captured = self.captured(self.number)
            self._delay_ms = float(np.clip(self._delay_ms + self._rng.normal(0, 4), 5, 190))
            self.microphone.advance(captured + round(self._delay_ms * 1e6))
            self.recorder.write(Output(Frame(self.number, captured, image), image))
            self.number += 1


def drift(seconds: float) -> float:
    return 180e-6 + 60e-6 * np.sin(2 * np.pi * seconds / 180)


def make(path: Path, **options: object) -> Show:
    claps: list[int] = []
    microphone = DriftingMicrophone(START - 500_000_000, drift, claps)
    recorder = Recorder(path, codec=QUICK, microphone=microphone, **options)
    recorder.open(StreamInfo(*SIZE, 30, live=True))
    return Show(recorder, microphone, claps)


def shown(show: Show) -> int:
    """Claps whose picture was recorded."""
    return sum(clap < show.captured(show.number) for clap in show.claps)


@pytest.mark.timeout(400)
def test_ten_minutes_with_a_drifting_clock(tmp_path: Path, pictures: list[Image]) -> None:
    path = tmp_path / "clap.mp4"
    show = make(path)
    show.play(600, pictures)
    show.recorder.close()
    off = offsets_ms(path)
    print(f"{len(off)} claps, offset {np.mean(off):+.1f} ms, from {min(off):+.1f} to {max(off):+.1f} ms")
    assert len(off) == shown(show) > 120  # all were found
    assert max(map(abs, off)) <= 20
    # taken at its word, the microphone's clock would be off by 108 ms at the end
    assert abs(np.mean(off[-20:]) - np.mean(off[:20])) < 3
    assert show.microphone.users == 0


@pytest.mark.parametrize("suffix", [".mkv", ".mov"])
def test_other_containers(tmp_path: Path, pictures: list[Image], suffix: str) -> None:
    path = tmp_path / f"clap{suffix}"
    show = make(path)
    show.play(20, pictures)
    show.recorder.close()
    off = offsets_ms(path)
    assert len(off) == shown(show) and max(map(abs, off)) <= 20


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg")
def test_ffmpeg_sees_the_same(tmp_path: Path, pictures: list[Image]) -> None:
    """Players that know nothing of the encoder's delay but what the file says find the sound in its place."""
    path, sound = tmp_path / "clap.mp4", tmp_path / "clap.wav"
    show = make(path)
    show.play(20, pictures)
    show.recorder.close()
    whole = "aresample=async=1:first_pts=0"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-af", whole, "-c:a", "pcm_f32le", sound],
        check=True,
    )
    heard, seen = np.array(clicks(sound)), np.array(flashes(path))
    assert len(heard) == len(seen) > 3
    assert np.abs(heard - seen).max() <= 0.020


def test_a_camera_that_is_late_itself(tmp_path: Path, pictures: list[Image]) -> None:
    path = tmp_path / "late.mp4"
    show = make(path, shift_ms=50.0)
    show.play(15, pictures)
    show.recorder.close()
    assert offsets_ms(path) == pytest.approx([50.0] * shown(show), abs=3)


def test_in_time_after_pauses(tmp_path: Path, pictures: list[Image]) -> None:
    path = tmp_path / "pause.mp4"
    show = make(path)
    for _ in range(6):
        show.play(5, pictures)
        before = len(show.claps)
        show.recorder.pause()
        show.play(7.3, pictures)
        show.recorder.pause(False)
    assert before
    show.play(10, pictures)
    show.recorder.close()
    off = offsets_ms(path)
    assert len(off) >= 4 and max(map(abs, off)) <= 20
    with av.open(str(path)) as file:
        assert file.duration / 1e6 == pytest.approx(40, abs=0.3)
        times = [float(frame.time) for frame in file.decode(video=0)]
    assert np.diff(times).max() < 0.06  # no gap where it paused


def test_in_time_in_each_part(tmp_path: Path, pictures: list[Image]) -> None:
    path, signed = tmp_path / "part.mp4", []
    show = make(path, split=Split(seconds=10), finish=signed.append)
    show.play(34, pictures)
    show.recorder.close()
    parts = sorted(tmp_path.iterdir())
    assert [part.name for part in parts] == ["part.mp4", "part_002.mp4", "part_003.mp4", "part_004.mp4"]
    assert signed == parts
    frames, off = 0, []
    for part in parts:
        off += offsets_ms(part)
        with av.open(str(part)) as file:
            frames += sum(1 for _ in file.decode(video=0))
            assert file.duration / 1e6 <= 10.1
    assert frames == show.number  # none is missing between the parts
    assert len(off) == shown(show) and max(map(abs, off)) <= 20


def test_a_microphone_that_is_unplugged(tmp_path: Path, pictures: list[Image]) -> None:
    path, told = tmp_path / "gone.mp4", []
    show = make(path, warn=told.append)
    show.play(6, pictures)
    show.microphone.advance = lambda now_ns: None
    show.play(6, pictures)
    show.recorder.close()
    assert told == ["The microphone gives no sound; the recording goes on without it."]
    assert len(flashes(path)) == shown(show)
    with av.open(str(path)) as file:
        sound = np.concatenate([frame.to_ndarray()[0] for frame in file.decode(audio=0)])
    assert len(sound) / 48_000 == pytest.approx(12, abs=0.2)
    assert np.abs(sound[: 5 * 48_000]).max() > 0.3 and np.abs(sound[8 * 48_000 :]).max() < 0.001


def test_no_microphone_at_all(tmp_path: Path, pictures: list[Image]) -> None:
    class Missing:
        def open(self) -> Tape:
            raise DeviceError("No microphone was found", "Plug one in")

        def close(self) -> None:
            raise AssertionError("it was never opened")

    path, told = tmp_path / "mute.mp4", []
    recorder = Recorder(path, codec=QUICK, microphone=Missing(), warn=told.append)
    recorder.open(StreamInfo(*SIZE, 30, live=True))
    show = Show(recorder, DriftingMicrophone(START, drift, []), [])
    show.play(2, pictures)
    recorder.close()
    assert told == ["No microphone was found. Plug one in. The recording has no sound."]
    with av.open(str(path)) as file:
        assert not file.streams.audio and sum(1 for _ in file.decode(video=0)) == 60
