from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from skimage.data import astronaut

from engine.mark.detector import Detector, Finding, Verdict
from engine.mark.payload import Payload, model_id
from engine.mark.watermark import Watermark

PAYLOAD = Payload(0x123456, model_id("mesh"), (0, 1), date(2026, 11, 30))
Frames = list[np.ndarray]


def scene(count: int, height: int = 720, width: int = 1280) -> Frames:
    """A handheld view of a photo with fresh sensor noise in every frame."""
    bgr = cv2.resize(np.ascontiguousarray(astronaut()[..., ::-1]), (width + 200, height + 100))
    random = np.random.default_rng(1)
    frames = []
    for index in range(count):
        y, x = round(20 + 15 * np.sin(index / 9)), round(60 + 40 * np.sin(index / 13))
        view = bgr[y : y + height, x : x + width]
        noise = random.normal(0, 2, view.shape)
        frames.append(np.clip(view + noise, 0, 255).astype(np.uint8))
    return frames


def marked(frames: Frames) -> Frames:
    watermark = Watermark(PAYLOAD.to_bytes())
    out = [frame.copy() for frame in frames]
    for frame in out:
        watermark.apply(frame)
    return out


def find(frames: Frames, key: bytes | None = None) -> Finding:
    detector = Detector() if key is None else Detector(key)
    for frame in frames:
        detector.feed(frame)
    return detector.find()


def encoded(frames: Frames, codec: str, **options: str) -> Frames:
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="matroska") as container:
        stream = container.add_stream(codec, 30)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        stream.options = options
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="bgr24")))
        container.mux(stream.encode(None))
    buffer.seek(0)
    return [frame.to_ndarray(format="bgr24") for frame in av.open(buffer).decode(video=0)]


def turned(frames: Frames, degrees: float) -> Frames:
    height, width = frames[0].shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1)
    return [cv2.warpAffine(frame, matrix, (width, height)) for frame in frames]


def resized(frames: Frames, height: int) -> Frames:
    width = round(frames[0].shape[1] * height / frames[0].shape[0])
    return [cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA) for frame in frames]


ATTACKS: dict[str, Callable[[Frames], Frames]] = {
    "none": lambda frames: frames,
    "h264 crf 28": lambda frames: encoded(frames, "libx264", crf="28"),
    "480p": lambda frames: resized(frames, 480),
    "crop 5 %": lambda frames: [frame[18:-18, 32:-32] for frame in frames],
    "mirrored": lambda frames: [np.ascontiguousarray(frame[:, ::-1]) for frame in frames],
    "turned 1 degree": lambda frames: turned(frames, 1.0),
    "turned -2 degrees": lambda frames: turned(frames, -2.0),
    "jpeg 70": lambda frames: [
        cv2.imdecode(cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, 70])[1], 1) for frame in frames
    ],
    "gamma": lambda frames: [(255 * (frame / 255.0) ** 0.8).astype(np.uint8) for frame in frames],
}


@pytest.fixture(scope="module")
def stream() -> Frames:
    return marked(scene(60))  # the length that DESIGN section 8 promises for crf 28


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_payload_survives(stream: Frames, attack: str) -> None:
    finding = find(ATTACKS[attack](stream))
    assert finding.verdict is Verdict.PRESENT
    assert finding.payload == PAYLOAD
    assert finding.frames == len(stream)


def test_unmarked_video_is_absent() -> None:
    assert find(scene(30)).verdict is Verdict.ABSENT


def test_another_key_is_absent(stream: Frames) -> None:
    assert find(stream, b"a private key").verdict is Verdict.ABSENT


def test_nothing_fed_is_absent() -> None:
    assert Detector().find() == find([])


def adversarial() -> Iterator[np.ndarray]:
    random = np.random.default_rng(2)
    yield np.zeros((360, 640), np.uint8)
    yield np.full((360, 640), 255, np.uint8)
    yield random.integers(0, 256, (360, 640)).astype(np.uint8)
    yield np.indices((720, 1280)).sum(0).astype(np.uint8)
    yield ((np.indices((720, 1280)) // 8).sum(0) % 2 * 255).astype(np.uint8)
    text = np.full((720, 1280), 255, np.uint8)
    for row in range(20, 720, 24):
        cv2.putText(text, "the quick brown fox jumps over the lazy dog " * 3, (5, row), 0, 0.6, 0, 1)
    yield text
    yield np.tile(random.integers(0, 256, (64, 64)).astype(np.uint8), (12, 20))


@pytest.mark.parametrize("index", range(7))
def test_patterns_that_are_no_mark_raise_no_alarm(index: int) -> None:
    picture = list(adversarial())[index]
    assert find([picture] * 3).verdict is not Verdict.PRESENT


def test_a_small_picture_survives_a_coarse_codec_in_half_a_second() -> None:
    assert find(encoded(marked(scene(1, 300, 400) * 15), "libx264", crf="28")).payload == PAYLOAD


def test_a_small_picture_survives_being_enlarged() -> None:
    assert find(resized(marked(scene(15, 300, 400)), 540)).payload == PAYLOAD


def test_a_quick_pan_under_a_coarse_codec() -> None:
    bgr = cv2.resize(np.ascontiguousarray(astronaut()[..., ::-1]), (2200, 1100))
    frames = encoded(marked([bgr[:720, 24 * i : 24 * i + 1280] for i in range(30)]), "libx264", crf="28")
    assert find(frames).payload == PAYLOAD


@pytest.mark.shared
def test_a_real_clip(clips: Path) -> None:
    with av.open(clips / "lp_s18_720p.mp4") as container:
        frames = [
            frame.to_ndarray(format="bgr24")
            for frame, _ in zip(container.decode(video=0), range(30), strict=False)
        ]
    assert find(frames).verdict is Verdict.ABSENT
    finding = find(encoded(marked(frames), "libx264", crf="28"))
    assert (finding.verdict, finding.payload) == (Verdict.PRESENT, PAYLOAD)
