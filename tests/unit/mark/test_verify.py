from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from skimage.data import astronaut

from app.cli import run
from engine.mark.detector import Detector, Verdict
from engine.mark.manifest import sign
from engine.mark.marker import make_marker
from engine.mark.payload import Payload, model_id
from engine.mark.private_key import new_private_key, private_key
from engine.mark.signer import local_signing_key
from engine.mark.verify import verify_camera
from engine.mark.watermark import Watermark
from engine.sources.paced import PacedSource

PAYLOAD = Payload(0xABCDEF, model_id("mesh"), (0, 1), date(2026, 11, 30))


def clip(
    path: Path, frames: int, *, marked: bool, unmarked_lead: int = 0, private: bytes | None = None
) -> Path:
    photo = cv2.resize(np.ascontiguousarray(astronaut()[..., ::-1]), (640, 480))
    watermark, random = Watermark(PAYLOAD.to_bytes(), private), np.random.default_rng(0)
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", 30)
        stream.width, stream.height, stream.pix_fmt = 640, 480, "yuv420p"
        stream.options = {"preset": "ultrafast"}
        for index in range(frames):
            image = np.clip(photo + random.normal(0, 2, photo.shape), 0, 255).astype(np.uint8)
            if marked and index >= unmarked_lead:
                watermark.apply(image)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        container.mux(stream.encode(None))
    return path


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "home"))


def verify(path: Path, capsys: pytest.CaptureFixture[str]) -> dict:
    assert run(["verify", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_marked_and_signed_clip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, signed = clip(tmp_path / "a.mp4", 40, marked=True), tmp_path / "b.mp4"
    sign(plain, signed, local_signing_key(tmp_path / "home"), PAYLOAD, "mesh")
    report = verify(signed, capsys)
    assert report["watermark"]["verdict"] == "present"
    assert report["watermark"]["payload"]["install"] == "abcdef"
    assert report["manifest"]["trust"] == "trusted"
    assert report["agree"] is True


def test_the_mark_is_found_in_a_later_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = verify(clip(tmp_path / "a.mp4", 200, marked=True, unmarked_lead=100), capsys)
    assert report["watermark"]["verdict"] == "present"
    assert report["manifest"]["trust"] == "absent"


def test_an_unmarked_clip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = verify(clip(tmp_path / "a.mp4", 40, marked=False), capsys)
    assert report["watermark"]["verdict"] == "absent"
    assert report["watermark"]["payload"] is None


def test_a_single_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = cv2.resize(np.ascontiguousarray(astronaut()[..., ::-1]), (640, 480))
    Watermark(PAYLOAD.to_bytes()).apply(image)
    cv2.imwrite(str(tmp_path / "a.png"), image)
    assert verify(tmp_path / "a.png", capsys)["watermark"]["verdict"] == "present"


def test_it_reads_like_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(clip(tmp_path / "a.mp4", 20, marked=True))]) == 0
    assert "watermark  present" in capsys.readouterr().out


def test_what_is_no_picture_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.mp4").write_text("hello")
    assert run(["verify", str(tmp_path / "a.mp4")]) == 3
    assert run(["verify", str(tmp_path / "missing.mp4")]) == 3
    assert "Traceback" not in capsys.readouterr().err


def test_a_private_key_is_found_beside_the_public_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["key", "new"]) == 0
    own = private_key(tmp_path / "home")
    path = clip(tmp_path / "a.mp4", 30, marked=True, private=own)
    assert (tmp_path / "home" / "keys" / "watermark.json").stat().st_mode & 0o077 == 0
    capsys.readouterr()
    report = verify(path, capsys)
    for name in ("watermark", "private"):
        assert (report[name]["verdict"], report[name]["payload"]["install"]) == ("present", "abcdef")

    assert run(["key", "show"]) == 0
    shown = tmp_path / "key.txt"
    shown.write_text(capsys.readouterr().out)
    assert run(["key", "remove"]) == 0
    capsys.readouterr()
    assert verify(path, capsys)["private"] is None
    for key, verdict in (
        (str(shown), "present"),
        (shown.read_text().strip(), "present"),
        ("00" * 32, "absent"),
    ):
        assert run(["verify", str(path), "--json", "--key", key]) == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["watermark"]["verdict"], report["private"]["verdict"]) == ("present", verdict)


def test_a_stream_carries_the_private_mark_once_there_is_a_key(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for expected in (Verdict.ABSENT, Verdict.PRESENT):
        image = np.full((720, 1280, 3), 128, np.uint8)
        make_marker(home, "mesh", None).apply(image)
        public, own = Detector(), Detector(private_key(home) or b"none")
        for detector in (public, own):
            detector.feed(image)
        assert public.find(thorough=False).verdict is Verdict.PRESENT
        assert own.find(thorough=False).verdict is expected
        if expected is Verdict.ABSENT:
            new_private_key(home)


@pytest.mark.parametrize(
    "words", [["key", "show"], ["verify", "demo", "--key", "beef"], ["verify", "demo", "--key", "x" * 64]]
)
def test_a_key_that_is_none(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert "key" in capsys.readouterr().err


def test_a_second_key_does_not_replace_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["key", "new"]) == 0
    first = private_key(tmp_path / "home")
    assert run(["key", "new"]) == 2
    assert private_key(tmp_path / "home") == first


def test_a_key_store_that_is_locked_does_not_hinder_verifying(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home" / "keys").mkdir(parents=True)
    (tmp_path / "home" / "keys" / "watermark.json").write_text('{"entry": "1234"}')
    path = clip(tmp_path / "a.mp4", 10, marked=True)
    assert run(["verify", str(path)]) == 0
    said = capsys.readouterr()
    assert "watermark  present" in said.out
    assert "not tried" in said.err


def test_a_camera(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "demo", "--seconds", "0.3", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["watermark"]["verdict"], report["manifest"]) == ("absent", None)
    assert 0 < report["watermark"]["frames"] < 60


def test_a_camera_that_shows_kawaris_output() -> None:
    image = cv2.resize(np.ascontiguousarray(astronaut()[..., ::-1]), (640, 480))
    Watermark(PAYLOAD.to_bytes()).apply(image)
    report = verify_camera(PacedSource([image], 30), seconds=0.5)
    assert (report.watermark.verdict, report.watermark.payload) == (Verdict.PRESENT, PAYLOAD)


def test_a_camera_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "no such camera"]) == 4
    assert "Traceback" not in capsys.readouterr().err
