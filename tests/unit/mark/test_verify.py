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
from engine.mark.manifest import sign
from engine.mark.payload import Payload, model_id
from engine.mark.signer import local_signing_key
from engine.mark.watermark import Watermark

PAYLOAD = Payload(0xABCDEF, model_id("mesh"), (0, 1), date(2026, 11, 30))


def clip(path: Path, frames: int, *, marked: bool, unmarked_lead: int = 0) -> Path:
    photo = cv2.resize(np.ascontiguousarray(astronaut()[..., ::-1]), (640, 480))
    watermark, random = Watermark(PAYLOAD.to_bytes()), np.random.default_rng(0)
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
