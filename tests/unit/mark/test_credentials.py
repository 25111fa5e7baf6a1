from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pytest

from app.build import credentials
from app.cli import run
from engine.export import export
from engine.mark.credentials import Credentials
from engine.mark.manifest import Trust, read
from engine.mark.payload import Payload, model_id
from engine.mark.signer import local_signing_key
from engine.sinks.base import StreamInfo
from engine.sinks.picture import write_picture
from engine.sinks.recorder import Recorder
from engine.types import Frame, Output

PAYLOAD = Payload(0xABCDEF, model_id("mesh"), (0, 1), date(2026, 11, 30))


@pytest.fixture
def seal(tmp_path: Path) -> Credentials:
    return Credentials(local_signing_key(tmp_path / "home"), PAYLOAD, "mesh")


def record(path: Path, seal: Credentials, frames: int = 40) -> Path:
    recorder = Recorder(path, finish=seal.attach)
    recorder.open(StreamInfo(160, 120, 30, live=True))
    random = np.random.default_rng(0)
    for index in range(frames):
        image = random.integers(0, 256, (120, 160, 3)).astype(np.uint8)
        recorder.write(Output(Frame(index, 1 + index * 33_000_000, image), image))
    recorder.close()
    return path


@pytest.mark.parametrize("name", ["a.mp4", "a.mov"])
def test_recordings_are_signed(tmp_path: Path, seal: Credentials, name: str) -> None:
    path = record(tmp_path / name, seal)
    root = local_signing_key(tmp_path / "home").root
    assert read(path, root).trust is Trust.TRUSTED
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([name, "home"])


def test_formats_without_manifests_stay_as_they_are(tmp_path: Path, seal: Credentials) -> None:
    path = record(tmp_path / "a.mkv", seal)
    assert path.stat().st_size > 0
    assert read(path).trust is Trust.ABSENT


@pytest.mark.parametrize("name", ["b.mp4", "b.mov", "b.mkv", "b.webm", "b.gif"])
def test_exports_are_signed_where_the_format_allows(tmp_path: Path, seal: Credentials, name: str) -> None:
    source = record(tmp_path / "a.mkv", seal)
    export(source, tmp_path / name, lambda frame: Output(frame, frame.image), finish=seal.attach)
    expected = Trust.ABSENT if name.endswith(("mkv", "webm")) else Trust.TRUSTED
    assert read(tmp_path / name, local_signing_key(tmp_path / "home").root).trust is expected


def test_snapshots_are_signed(tmp_path: Path, seal: Credentials) -> None:
    write_picture(tmp_path / "a.png", np.zeros((64, 64, 3), np.uint8), seal.attach)
    assert read(tmp_path / "a.png", local_signing_key(tmp_path / "home").root).trust is Trust.TRUSTED


def test_a_failed_signature_leaves_no_file(tmp_path: Path) -> None:
    def fail(_: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(Exception, match="room"):
        write_picture(tmp_path / "a.png", np.zeros((64, 64, 3), np.uint8), fail)
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "home"))
    assert run(["demo", "--seconds", "0.5", "--output", str(tmp_path / "demo.mp4")]) == 0
    statement = read(tmp_path / "demo.mp4", local_signing_key(tmp_path / "home").root)
    assert statement.trust is Trust.TRUSTED
    assert statement.watermark == credentials("mesh")._payload.to_bytes().hex()
