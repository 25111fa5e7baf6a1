"""`kawari run` and `kawari demo`: files in, files out, nothing half-written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image as PillowImage

from engine.identity.demo import portrait_path
from tests.integration.conftest import Kawari

PORTRAIT = portrait_path()
SOURCE = ["--source", PORTRAIT, "--consent", "public-domain"]


def frames_of(path: Path) -> tuple[int, int, int]:
    """Frames, width, height."""
    with av.open(str(path)) as container:
        images = [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]
    return len(images), images[0].shape[1], images[0].shape[0]


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """A second of the built-in portrait, moving a little."""
    path = tmp_path / "clip.gif"
    with PillowImage.open(PORTRAIT) as portrait:
        pictures = [portrait.convert("RGB").crop((x, 0, x + 384, 384)) for x in range(60, 84, 2)]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=80)
    return path


def test_a_clip(kawari: Kawari, clip: Path, tmp_path: Path) -> None:
    output = tmp_path / "ü out.mp4"
    done = kawari("run", *SOURCE, "--input", clip, "--output", output, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["frames"] == 12
    assert report["swapped_frames"] == 12
    assert report["shown"] == {"swapped": 12}
    assert set(report["stage_ms"]) >= {"track", "swap", "blend", "mark"}
    assert frames_of(output) == (12, 384, 384)


def test_a_picture(kawari: Kawari, tmp_path: Path) -> None:
    output = tmp_path / "out.png"
    done = kawari("run", *SOURCE, "--input", PORTRAIT, "--output", output, "--no-badge")
    assert done.returncode == 0, done.stderr
    with PillowImage.open(output) as after, PillowImage.open(PORTRAIT) as before:
        assert after.size == before.size
        change = np.abs(np.asarray(after, np.int16) - np.asarray(before.convert("RGB"), np.int16))
    assert change[:20, :20].mean() < 4  # the watermark alone
    assert change[60:180, 170:270].mean() > change[:20, :20].mean()


def test_nothing_is_overwritten_unasked(kawari: Kawari, tmp_path: Path) -> None:
    output = tmp_path / "out.png"
    output.write_text("mine")
    arguments = ["run", *SOURCE, "--input", PORTRAIT, "--output", output]
    done = kawari(*arguments)
    assert done.returncode == 2
    assert "--overwrite" in done.stderr
    assert output.read_text() == "mine"
    assert kawari(*arguments, "--overwrite").returncode == 0
    assert output.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--source", "no.jpg", "--input", PORTRAIT, "--output", "o.png"], 3),
        ([*SOURCE, "--input", "no.mp4", "--output", "o.mp4"], 3),
        ([*SOURCE, "--input", PORTRAIT, "--output", "o.mp4"], 2),
        ([*SOURCE, "--input", PORTRAIT, "--output", "no/o.png"], 2),
        ([*SOURCE, "--input", PORTRAIT, "--output", "o.png", "--swapper", "none"], 5),
        ([*SOURCE, "--input", PORTRAIT, "--output", "o.png", "--who", "chosen"], 2),
        ([*SOURCE, "--face", "7", "--input", PORTRAIT, "--output", "o.png"], 3),
    ],
)
def test_what_can_not_be_done(kawari: Kawari, tmp_path: Path, arguments: list[object], code: int) -> None:
    before = set(tmp_path.iterdir())
    done = kawari("run", *arguments)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("kawari: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert {path for path in tmp_path.iterdir() if path.name != "home"} == before


def test_without_consent_nothing_is_made(kawari: Kawari, tmp_path: Path) -> None:
    output = tmp_path / "o.png"
    arguments = ["run", "--source", PORTRAIT, "--input", PORTRAIT, "--output", output]
    done = kawari(*arguments)
    assert done.returncode == 6
    assert "--consent" in done.stderr
    assert not output.exists()
    assert kawari(*arguments, "--consent", "public-domain").returncode == 0
    output.unlink()
    assert kawari(*arguments).returncode == 0  # it is on record now


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_while_it_writes(
    environment: dict[str, str], tmp_path: Path, number: signal.Signals, code: int
) -> None:
    output = tmp_path / "out" / "demo.mp4"
    output.parent.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "demo", "--seconds", "600", "--output", str(output)],
        env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    with process.stderr as stderr:
        try:
            deadline = time.monotonic() + 120
            while not any(path.stat().st_size > 1000 for path in output.parent.iterdir()):
                assert process.poll() is None, stderr.read()
                assert time.monotonic() < deadline
                time.sleep(0.1)
            os.kill(process.pid, number)
            assert process.wait(60) == code
            assert stderr.read() == ""
        finally:
            process.kill()
            process.wait()
    assert list(output.parent.iterdir()) == []


def test_demo_without_a_screen_writes_a_file_and_says_where(kawari: Kawari, tmp_path: Path) -> None:
    done = kawari("demo", "--seconds", "0.5")
    assert done.returncode == 0, done.stderr
    path = tmp_path / "kawari-demo.mp4"
    assert str(path) in done.stdout
    assert frames_of(path) == (15, 1280, 720)
