"""The watermark is in every picture that leaves, whichever way it leaves."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from app import build
from app.build import credentials, make_recorder, make_session, make_virtual_camera
from app.options import OutputConfig, SoundConfig
from engine.config import GuardConfig, GuardPolicy, SessionConfig
from engine.identity.demo import demo_photo
from engine.mark.detector import Detector, Finding, Verdict
from engine.mark.marker import Marker, make_marker
from engine.sinks.preview import PreviewSink
from engine.sinks.ring import Ring
from engine.sources.demo import DemoSource
from engine.swap import make_swapper
from engine.types import Shown

W, H = 640, 360


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("KAWARI_HOME", str(folder))
    return folder


@pytest.fixture
def viewer() -> Iterator[Ring]:
    ring = Ring.create(W, H)
    yield ring
    ring.close()
    ring.unlink()


def find(pictures: list[np.ndarray]) -> Finding:
    detector = Detector()
    for picture in pictures:
        detector.feed(picture)
    return detector.find(thorough=False)


def test_every_sink_gets_marked_pictures_only(tmp_path: Path, home: Path, viewer: Ring) -> None:
    swapper = make_swapper()
    preview = PreviewSink()
    warnings: list[str] = []
    sinks = [
        preview,
        make_recorder(tmp_path / "r.mp4", "mesh", OutputConfig(), SoundConfig(), None, warnings.append),
        make_virtual_camera(viewer.name, "mesh", backend="memory"),
    ]
    session = make_session(
        SessionConfig(), lambda: DemoSource((W, H), 30.0), swapper, swapper.prepare([demo_photo()]), sinks
    )
    shown: list[np.ndarray] = []
    cards: list[np.ndarray] = []
    camera: list[np.ndarray] = []
    number = 0
    with session:
        while len(shown) < 45 or len(camera) < 30:
            output = preview.take()
            if output is not None:
                (shown if output.shown is Shown.SWAPPED else cards).append(output.image)
            picture = np.empty((H, W, 3), np.uint8)
            if newer := viewer.read(number, picture):
                number = newer
                camera.append(picture)
            time.sleep(0.005)
        session.panic()
        while len(cards) < 3:
            output = preview.take()
            if output is not None and output.shown is Shown.COVERED:
                cards.append(output.image)
    expected = credentials("mesh")._payload
    with av.open(tmp_path / "r.mp4") as container:
        recorded = [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]
    for name, pictures in (("preview", shown), ("card", cards), ("camera", camera), ("recorder", recorded)):
        finding = find(pictures)
        assert finding.verdict is Verdict.PRESENT, name
        assert finding.payload == expected, name


@pytest.mark.parametrize("policy", list(GuardPolicy))
def test_no_guard_policy_leaves_it_out(home: Path, tmp_path: Path, policy: GuardPolicy) -> None:
    from engine.config import SwapConfig

    swapper = make_swapper()
    source = DemoSource((W, H), 30.0, realtime=False, frames=24)
    source.open()
    cv2.imwrite(str(tmp_path / "chosen.png"), np.full((90, 160, 3), 90, np.uint8))
    guard = GuardConfig(policy, picture=str(tmp_path / "chosen.png"))
    pipeline = build.make_pipeline(SwapConfig(), guard, swapper, identity=None)
    pictures = [pipeline.process(frame).image for frame in iter(source.read, None)]
    assert find(pictures).verdict is Verdict.PRESENT


def test_nothing_the_user_can_set_switches_it_off() -> None:
    assert set(inspect.signature(Marker).parameters) == {"payload", "badge", "private"}
    assert set(inspect.signature(make_marker).parameters) == {"home", "swapper", "badge"}
    for maker in (build.make_session, build.make_pipeline):
        assert not any("mark" in name for name in inspect.signature(maker).parameters)
