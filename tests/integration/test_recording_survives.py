"""A recording outlives its process, and a full disk ends it without ending the stream."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import pytest

from app.build import credentials
from engine.config import SessionConfig
from engine.events import Report
from engine.live.session import Session
from engine.pipeline import Pipeline, Plan
from engine.sinks.null import NullSink
from engine.sinks.recorder import Recorder
from engine.types import Image
from tests.conftest import ROOT
from tests.scripted import Script, World, WorldSource, pipeline_parts

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX"),
    pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg to judge the files"),
]


def play(path: Path) -> subprocess.CompletedProcess[str]:
    """What Debian's ffmpeg, another version than the one that recorded, says of a file."""
    times = ["-vsync", "passthrough", "-enc_time_base", "-1"]  # as they are in the file
    command = ["ffmpeg", "-v", "error", "-i", str(path), *times, "-f", "null", "-"]
    return subprocess.run(command, capture_output=True, text=True)


def ends(path: Path) -> tuple[float, float]:
    """When pictures and sound of a file end, seconds; every packet of it can be decoded."""
    found = []
    for kind in ("video", "audio"):
        with av.open(str(path)) as file:
            frames = [float(frame.time) for frame in file.decode(**{kind: 0})]
        found.append(frames[-1])
    return found[0] + 1 / 30, found[1] + 1024 / 48_000


@pytest.mark.timeout(400)
def test_killed_at_fifty_random_moments(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.doomed", str(tmp_path), "50", "2026"],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == 50
    lost: list[tuple[float, float]] = []
    for one in told:
        path = Path(one["path"])
        parts = sorted(path.parent.glob(f"{path.stem}_*{path.suffix}"))
        files = [path, *parts]
        if len(files) > 1 and not files[-1].stat().st_size:
            files.pop()  # the new part was just being created
        seen = [0.0, 0.0]
        for file in files:
            judged = play(file)
            if file is files[-1] and len(files) > 1 and judged.returncode:
                continue  # less than a fragment is in it
            assert judged.returncode == 0 and not judged.stderr, f"{file.name}: {judged.stderr}"
            seen = [sum(pair) for pair in zip(seen, ends(file), strict=True)]
        lost.append((one["written"] - seen[0], one["written"] - seen[1]))
    worst = np.max(lost, axis=0)
    print(f"{len(lost)} killed; pictures lost at most {worst[0]:.2f} s, sound {worst[1]:.2f} s")
    assert worst.max() <= 1.0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 0.8 MB."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk; see test_recorder for a limit that needs no root")
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=800k", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


class Noisy:
    """A marker that makes pictures which fill a disk fast."""

    name = "noise"

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def apply(self, image: Image) -> None:
        image[:] = self._rng.integers(0, 255, image.shape, dtype=np.uint8)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_a_full_disk_ends_the_recording_not_the_stream(small_disk: Path, suffix: str) -> None:
    path, told, events = small_disk / f"full{suffix}", [], []
    others = NullSink()
    recorder = Recorder(path, finish=credentials("mesh").attach, warn=told.append)
    world = World()

    def build(plan: Plan, report: Report) -> Pipeline:
        tracker, swapper, _ = pipeline_parts(world, Script())
        return Pipeline(tracker, swapper, plan, marker=Noisy(), report=report)

    source = WorldSource(world, live=True, fps=30)
    session = Session(SessionConfig(), source, [recorder, others], identity=object(), build=build)
    session.subscribe(events.append)
    with session:
        deadline = time.monotonic() + 60
        while not any(event.kind == "sink-failed" for event in events):
            assert time.monotonic() < deadline, session.stats()
            time.sleep(0.02)
        assert recorder.wait(5)
        before = session.stats().frames_out
        time.sleep(1)
        assert session.stats().frames_out > before + 5
        assert session.state.value == "running"
    failed = next(event for event in events if event.kind == "sink-failed")
    assert "There is no room left to write full" in failed.message and failed.data["sink"] == "recorder"
    judged = play(path)
    assert judged.returncode == 0
    with av.open(str(path)) as file:
        assert sum(1 for _ in file.decode(video=0)) >= 5
    if suffix == ".mp4":
        assert not judged.stderr, "the torn end was cut off"
        assert told == [
            "full.mp4: There is no room left to sign full.mp4, which takes as much again. Free some space."
        ]
