"""Clips of people who are upside down, through the pipeline of `kawari run`: no frame shows the face."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.build import make_pipeline
from app.clip import ClipProcess
from engine.config import GuardConfig, GuardPolicy, SwapConfig, Who
from engine.identity.demo import demo_photo
from engine.sources.file import FileSource
from engine.swap import make_swapper
from engine.types import Shown

FRAMES = 40


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path))


@pytest.mark.shared
@pytest.mark.parametrize("who", [Who.LARGEST, Who.ALL])
@pytest.mark.parametrize("name", ["d_upside_down.mp4", "d_phone_rot90_meta.mp4", "lp_s18_720p.mp4"])
def test_every_frame_is_swapped(clips: Path, name: str, who: Who) -> None:
    swapper = make_swapper("mesh")
    identity = swapper.prepare([demo_photo()])
    guard = GuardConfig(policy=GuardPolicy.BLUR, empty_after_s=0.2)
    process = ClipProcess(make_pipeline(SwapConfig(who=who), guard, swapper, identity))
    source = FileSource(clips / name)
    source.open()
    try:
        for _ in range(FRAMES if who is Who.LARGEST else 5):
            frame = source.read()
            assert frame is not None
            output = process(frame)
            assert output.shown is Shown.SWAPPED and len(output.swapped) == 1
            x0, y0, x1, y1 = (int(v) for v in output.faces[0].box)
            w, h = (x1 - x0) // 5, (y1 - y0) // 5
            middle = np.s_[y0 + h : y1 - h, x0 + w : x1 - w]
            change = output.image[middle].astype(np.int16) - frame.image[middle]
            assert np.abs(change).mean() > 5
    finally:
        source.close()
