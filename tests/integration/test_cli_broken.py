"""Every broken or odd file of ../shared gives its right result, or one sentence and the right code."""

from __future__ import annotations

from pathlib import Path

import av
import pytest
from PIL import Image as PillowImage

from engine.identity.demo import portrait_path
from tests.integration.conftest import Kawari

pytestmark = pytest.mark.shared

PORTRAIT = portrait_path()
SOURCE = ["--source", PORTRAIT, "--consent", "public-domain"]

UNUSABLE_PHOTOS = {
    "zero_bytes.jpg": "empty",
    "text_named.jpg": "not a picture",
    "truncated.png": "damaged",
    "one_pixel.png": "too small",
    "tiny_40x40.png": "too small",
    "lite_dark_room_noface.png": "dark",
    "profile_intel_female.png": "turned",
}
ODD_PHOTOS = (
    "animated.gif",
    "cmyk.jpg",
    "exif_orientation6.jpg",
    "face_only_crop_96x120.png",
    "gray16.png",
    "gray_L.jpg",
    "huge_8000x8000.jpg",
    "lite_face_fills_frame.jpg",
    "rgb16.png",
    "rgba_transparent.png",
    "sideways_noexif.jpg",
    "upside_down.jpg",
    "ünï cödé 人脸 (1).jpg",
)
BROKEN_INPUTS = {
    "images/zero_bytes.jpg": "empty",
    "images/text_named.jpg": "",
    "images/truncated.png": "damaged",
    "videos/d_empty.mp4": "empty",
    "models/corrupt_truncated.onnx": "",
    "models/html_instead_of_model.onnx": "",
}
ODD_CLIPS = {
    "d_one_frame.mp4": (1, 1280, 720),
    "d_av1.mp4": (60, 640, 360),
}


@pytest.mark.parametrize("name", UNUSABLE_PHOTOS)
def test_photos_that_can_not_be_used(kawari: Kawari, photos: Path, tmp_path: Path, name: str) -> None:
    output = tmp_path / "o.png"
    done = kawari("run", "--source", photos / name, "--input", PORTRAIT, "--output", output)
    assert done.returncode == 3
    assert UNUSABLE_PHOTOS[name] in done.stderr
    assert name in done.stderr
    assert done.stderr.count("\n") == 1
    assert not output.exists()


@pytest.mark.parametrize("name", ODD_PHOTOS)
def test_photos_that_can(kawari: Kawari, photos: Path, tmp_path: Path, name: str) -> None:
    output = tmp_path / "o.png"
    consent = ["--consent", "public-domain"]
    done = kawari("run", "--source", photos / name, *consent, "--input", PORTRAIT, "--output", output)
    assert done.returncode == 0, done.stderr
    with PillowImage.open(output) as picture:
        assert picture.size == (512, 512)


@pytest.mark.parametrize("name", BROKEN_INPUTS)
@pytest.mark.parametrize("suffix", [".mp4", ".png"])
def test_inputs_that_can_not_be_read(
    kawari: Kawari, shared: Path, tmp_path: Path, name: str, suffix: str
) -> None:
    output = tmp_path / f"o{suffix}"
    done = kawari("run", *SOURCE, "--input", shared / "data" / name, "--output", output)
    assert done.returncode == 3, done.stderr
    assert BROKEN_INPUTS[name] in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == []


@pytest.mark.parametrize("name", ODD_CLIPS)
def test_odd_clips(kawari: Kawari, clips: Path, tmp_path: Path, name: str) -> None:
    output = tmp_path / "o.mp4"
    done = kawari("run", *SOURCE, "--input", clips / name, "--output", output)
    assert done.returncode == 0, done.stderr
    with av.open(str(output)) as container:
        frames = [(frame.width, frame.height) for frame in container.decode(video=0)]
    assert (len(frames), *frames[0]) == ODD_CLIPS[name]
