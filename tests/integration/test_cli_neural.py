"""The neural path from the command line: import a model, use it, or be told how to get it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as PillowImage

from engine.identity.demo import portrait_path
from tests.integration.conftest import Kawari

pytestmark = pytest.mark.shared
PORTRAIT = portrait_path()


def bring(kawari: Kawari, standins: Path) -> None:
    for name, file in (
        ("inswapper_128", "inswapper_128.onnx"),
        ("arcface_w600k_r50", "models/buffalo_l/w600k_r50.onnx"),
    ):
        done = kawari("models", "import", name, standins / file, "--accept-licence", "--trust")
        assert done.returncode == 0, done.stderr


def test_without_the_model_one_sentence_says_how_to_get_it(kawari: Kawari, tmp_path: Path) -> None:
    for command in (
        [
            "run",
            "--source",
            PORTRAIT,
            "--consent",
            "public-domain",
            "--input",
            PORTRAIT,
            "--output",
            tmp_path / "o.png",
        ],
        ["live", "--camera", "demo", "--headless", "--seconds", "1"],
    ):
        done = kawari(*command, "--swapper", "inswapper_128")
        assert done.returncode == 5
        assert done.stderr.count("\n") == 1
        assert "kawari models get inswapper_128" in done.stderr
    assert not (tmp_path / "o.png").exists()


def test_flags_around_a_network_need_one(kawari: Kawari) -> None:
    done = kawari("live", "--camera", "demo", "--headless", "--keep-mouth")
    assert done.returncode == 2
    assert "--swapper" in done.stderr


def test_another_file_than_the_published_one_must_be_trusted(kawari: Kawari, standins: Path) -> None:
    done = kawari("models", "import", "inswapper_128", standins / "inswapper_128.onnx", "--accept-licence")
    assert done.returncode == 5
    assert "--trust" in done.stderr


def test_run_and_live(kawari: Kawari, standins: Path, tmp_path: Path) -> None:
    bring(kawari, standins)
    done = kawari(
        "run", "--swapper", "inswapper_128", "--source", PORTRAIT, "--consent", "public-domain",
        "--input", PORTRAIT, "--output", tmp_path / "o.png", "--no-badge",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with PillowImage.open(tmp_path / "o.png") as after, PillowImage.open(PORTRAIT) as before:
        change = np.abs(np.asarray(after, np.int16) - np.asarray(before.convert("RGB"), np.int16))
    assert change[100:150, 200:250].mean() > 20  # the stand-in tints the face
    assert change[300:400, 100:300].mean() < 4

    stats = tmp_path / "stats.json"
    done = kawari(
        "live", "--swapper", "inswapper_128", "--camera", "demo", "--size", "640x360", "--headless",
        "--seconds", "3", "--stats", stats,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    figures = json.loads(stats.read_text())
    assert figures["guard"]["swapped"] > 5
    assert figures["errors"] == {}


def test_a_model_of_another_kind_is_no_swapper(kawari: Kawari, tmp_path: Path) -> None:
    done = kawari("live", "--camera", "demo", "--headless", "--swapper", "gfpgan_1.4")
    assert done.returncode == 5
    assert "not a swapper" in done.stderr
