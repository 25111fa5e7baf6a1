"""`kawari live` from a real webcam driver to a real virtual camera, read by OpenCV and ffmpeg at once.

One start of the guest for all: see guest_live.py for what happens in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.vm.guest import run_in_guest

pytestmark = [pytest.mark.alone, pytest.mark.vm, pytest.mark.shared, pytest.mark.timeout(420)]
DEVICES = "devices=2 video_nr=10,11 card_label=VirtualCam,Webcam exclusive_caps=1,1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("guest")


@pytest.fixture(scope="module")
def report(shared: Path, folder: Path) -> dict[str, Any]:
    clip = shared / "data" / "videos" / "lp_s18_720p.mp4"
    return run_in_guest(shared, "guest_live.py", "all", str(clip), devices=DEVICES, out=folder, limit=400)


@pytest.mark.parametrize("reader", ["opencv", "ffmpeg"])
@pytest.mark.parametrize("run", ["vivid_mesh", "vivid_null", "null", "mesh"])
class TestReaders:
    def test_size_format_and_colours(self, report: dict[str, Any], run: str, reader: str) -> None:
        got = report[run][reader]
        assert "640x360" in got["format"] and ("YU12" if reader == "opencv" else "yuv420p") in got["format"]
        assert got["error"] <= 3

    def test_pictures_come_in_order_and_quickly(self, report: dict[str, Any], run: str, reader: str) -> None:
        got = report[run][reader]
        assert got["backwards"] == 0
        assert got["fps"] >= 24


@pytest.mark.parametrize("reader", ["opencv", "ffmpeg"])
def test_the_delay_is_short(report: dict[str, Any], reader: str) -> None:
    assert report["null"][reader]["delay_ms"][1] <= 100


def test_a_killed_worker_is_replaced_at_once(report: dict[str, Any]) -> None:
    assert report["killed"]["recovery_ms"] <= 1000 and report["killed"]["pictures"] > 60


def test_readers_come_and_go(report: dict[str, Any]) -> None:
    assert len(report["restarts"]) == 10
    for codes in report["restarts"]:  # the very first pictures may come twice or late
        steps = [(after - before) % (1 << 16) for before, after in pairwise(codes[4:])]
        assert all(step < 1000 for step in steps), codes


def test_a_second_kawari_is_told(report: dict[str, Any]) -> None:
    assert report["second_writer"]["status"] == 4
    assert "another program sends pictures to it" in report["second_writer"]["said"][0]


def test_the_watermark_comes_through_the_driver(report: dict[str, Any], folder: Path) -> None:
    assert report["capture"] == 0
    done = subprocess.run(
        [sys.executable, "-m", "app", "verify", folder / "captured.mkv", "--json"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)["watermark"]
    assert found["verdict"] == "present"
    assert found["payload"]["install"] == report["install"]
