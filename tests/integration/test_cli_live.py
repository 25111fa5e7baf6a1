"""`kawari live`: without a window on the demo camera and clips, and with one on a real X server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import av
import pytest

from engine.identity.demo import portrait_path
from tests.integration.conftest import Kawari

DEMO = ["--camera", "demo", "--size", "320x240", "--delay", "5000"]


def test_headless(kawari: Kawari, tmp_path: Path) -> None:
    record, stats = tmp_path / "r.mp4", tmp_path / "s.json"
    done = kawari("live", "--headless", *DEMO, "--seconds", "4", "--record", record, "--stats", stats)
    assert done.returncode == 0, done.stderr
    figures = json.loads(stats.read_text())
    assert figures["state"] == "finished"
    assert figures["guard"]["swapped"] > 0
    assert figures["delay"]["count"] > 0
    assert "track" in figures["stages"]
    with av.open(str(record)) as container:
        frames = sum(1 for _ in container.decode(video=0))
    assert 0 < frames <= figures["frames_out"] + 50  # cards are recorded, too
    assert f"{figures['frames_out']} pictures" in done.stdout


def test_a_recording_in_parts_without_a_microphone(kawari: Kawari, tmp_path: Path) -> None:
    done = kawari(
        "live", "--headless", *DEMO, "--seconds", "6", "--record", tmp_path / "r.mp4", "--split", "2s",
        "--microphone", "no such microphone",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "The recording has no sound." in done.stderr
    parts = sorted(tmp_path.glob("r*.mp4"))
    assert len(parts) >= 2 and parts[1].name == "r_002.mp4"
    for part in parts:  # each is watermarked and signed
        report = json.loads(kawari("verify", part, "--json").stdout)
        assert report["manifest"]["trust"] == "trusted", report
        assert report["manifest"]["synthetic"]


def test_a_still_as_camera(kawari: Kawari, tmp_path: Path) -> None:
    stats = tmp_path / "s.json"
    done = kawari("live", "--headless", "--camera", portrait_path(), "--seconds", "3", "--stats", stats)
    assert done.returncode == 0, done.stderr
    assert json.loads(stats.read_text())["frames_out"] > 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--headless", "--camera", "No Such Camera"], 4),
        (["--headless", "--camera", "no.mp4"], 3),
        (["--headless", "--size", "huge", *DEMO[:2]], 2),
        (["--headless", *DEMO, "--record", "r.avi"], 2),
        (["--headless", *DEMO, "--record", "no/r.mp4"], 2),
        (["--headless", *DEMO, "--record", "r.mp4", "--split", "5 apples"], 2),
        (["--headless", *DEMO, "--record", "r.mp4", "--encoder", "h264_none"], 4),
        (["--headless", *DEMO, "--monitor", "default"], 2),
        (["--headless", *DEMO, "--microphone", "no such", "--monitor", "default"], 4),
        (["--headless", *DEMO, "--stats", "no/s.json"], 2),
        (["--headless", *DEMO, "--source", "no.jpg"], 3),
        (["--headless", *DEMO, "--virtual-camera", "No Such Device"], 4),
        ([*DEMO], 4),
    ],
)
def test_what_can_not_be_done(kawari: Kawari, arguments: list[str], code: int) -> None:
    done = kawari("live", *arguments, "--seconds", "2")
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("kawari: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_stops_and_finishes_the_recording(environment: dict[str, str], tmp_path: Path) -> None:
    record = tmp_path / "r.mkv"
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "live", "--headless", *DEMO, "--record", str(record)],
        env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    with process.stderr as stderr:
        try:
            deadline = time.monotonic() + 120
            while not (record.exists() and record.stat().st_size > 4000):
                assert process.poll() is None, stderr.read()
                assert time.monotonic() < deadline
                time.sleep(0.1)
            os.kill(process.pid, signal.SIGINT)
            assert process.wait(30) == 130
            assert "Traceback" not in stderr.read()
        finally:
            process.kill()
            process.wait()
    with av.open(str(record)) as container:
        assert sum(1 for _ in container.decode(video=0)) > 0


@pytest.fixture
def x_server(tmp_path: Path) -> Iterator[str]:
    """An X server without a screen; gives its display."""
    program = shutil.which("Xvfb")
    if program is None:
        pytest.skip("no Xvfb")
    reader, writer = os.pipe()
    server = subprocess.Popen(
        [program, "-displayfd", str(writer), "-screen", "0", "1400x900x24", "-nolisten", "tcp"],
        pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(writer)
    try:
        with os.fdopen(reader) as answer:
            number = answer.readline().strip()
        if not number:
            pytest.skip("Xvfb does not start here")
        yield f":{number}"
    finally:
        server.terminate()
        server.wait(10)


@pytest.mark.gui
@pytest.mark.parametrize("command", ["live", "demo"])
def test_the_window_opens_on_x11_with_opencv_beside_qt(
    kawari: Kawari, environment: dict[str, str], tmp_path: Path, x_server: str, command: str
) -> None:
    """Qt's own xcb plugin must be used, not the one that OpenCV's wheel points to."""
    environment["DISPLAY"] = x_server
    environment["QT_QPA_PLATFORM"] = "xcb"
    stats = tmp_path / "s.json"
    arguments = ["live", *DEMO, "--stats", stats] if command == "live" else ["demo"]
    done = kawari(*arguments, "--seconds", "15")
    assert done.returncode == 0, done.stderr
    assert "plugin" not in done.stderr
    if command == "live":
        assert json.loads(stats.read_text())["guard"]["swapped"] > 0
