"""`--guard picture`: a picture of the user's own leaves instead of a face that was not swapped."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from app.build import DEMO, make_session, source_giver
from app.options import CameraConfig
from engine.config import DelayConfig, GuardConfig, GuardPolicy, SessionConfig
from engine.sinks.base import StreamInfo
from engine.swap import make_swapper
from engine.types import Output, Shown
from tests.integration.conftest import Kawari
from tests.integration.test_cli_live import DEMO as DEMO_FLAGS
from tests.integration.test_cli_run import PORTRAIT, SOURCE
from tests.server.conftest import until


class Seen:
    name = "seen"

    def __init__(self) -> None:
        self.outputs: list[Output] = []

    def open(self, stream: StreamInfo) -> None:
        pass

    def write(self, output: Output) -> None:
        self.outputs.append(output)

    def close(self) -> None:
        pass


def test_it_leaves_instead_of_the_face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "home"))
    path, seen = tmp_path / "mine.png", Seen()
    cv2.imwrite(str(path), np.full((50, 50, 3), (20, 90, 200), np.uint8))
    config = SessionConfig(
        guard=GuardConfig(GuardPolicy.PICTURE, picture=str(path)), delay=DelayConfig(5000, 60000)
    )
    source = source_giver(CameraConfig(DEMO, "320x240", 15.0))
    with make_session(config, source, make_swapper(), None, [seen]):  # no identity: nothing can be swapped
        until(lambda: any(one.faces for one in seen.outputs))
    for output in seen.outputs:
        assert output.shown is Shown.COVERED
        if output.faces:
            assert np.abs(output.image.mean((0, 1)) - (20, 90, 200)).max() < 2  # the watermark is on it, too


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([], 2, "There is no picture to show"),
        (["--guard-picture", "missing.png"], 3, "There is no file"),
        (["--guard-picture", __file__], 3, "not a picture"),
    ],
)
def test_a_picture_that_is_none(
    kawari: Kawari, tmp_path: Path, arguments: list[str], code: int, sentence: str
) -> None:
    run = ["run", *SOURCE, "--input", PORTRAIT, "--output", tmp_path / "out.png"]
    for command in (run, ["live", "--headless", *DEMO_FLAGS]):
        done = kawari(*command, "--guard", "picture", *arguments)
        assert done.returncode == code, done.stderr
        assert sentence in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out.png").exists()
