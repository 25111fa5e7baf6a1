"""The virtual camera through the real v4l2loopback driver, read back by OpenCV and ffmpeg.

One start of the guest for all: it costs seconds. See guest_virtual_camera.py for what happens in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.vm.guest import run_in_guest

pytestmark = [pytest.mark.alone, pytest.mark.vm, pytest.mark.shared]


@pytest.fixture(scope="module")
def report(shared: Path) -> dict[str, Any]:
    return run_in_guest(shared, "guest_virtual_camera.py")


def test_cameras_are_listed_with_sizes_and_our_output_is_not(report: dict[str, Any]) -> None:
    ((name, path, sizes, rates),) = report["cameras"]
    assert (name, path) == ("vivid", "/dev/video0")
    assert [640, 360] in sizes and [1280, 720] in sizes and 25.0 in rates
    assert report["cameras_while_writing"] == ["/dev/video0"]
    assert report["all_cameras_while_writing"] == ["/dev/video0", "/dev/video10"]


@pytest.mark.parametrize("reader", ["opencv", "ffmpeg"])
def test_pictures_come_through(report: dict[str, Any], reader: str) -> None:
    got = report[reader]
    assert got["ordered"] and got["unknown"] == 0 and got["frames"] >= 70
    assert got["error"] <= 3
    assert got["fps"] >= 24
    assert got["delay_ms"][1] <= 100
    if reader == "opencv":
        assert (got["size"], got["shape"], got["fourcc"]) == ([640, 360], [360, 640, 3], "YU12")
    else:
        assert "yuv420p" in got["video"] and "640x360" in got["video"]


def test_second_writer_is_told(report: dict[str, Any]) -> None:
    assert "another program sends pictures to it" in report["second_writer"]
    assert "modprobe" in report["second_writer"]


def test_killed_worker_is_replaced_while_the_reader_stays(report: dict[str, Any]) -> None:
    killed = report["killed"]
    assert killed["before"] > 0 and killed["after"] > 0 and killed["ordered"] and killed["restarts"] == 1
    assert killed["recovery_s"] <= 1


def test_readers_come_and_go(report: dict[str, Any]) -> None:
    ends = report["reader_restarts"]
    assert len(ends) == 10 and ends == sorted(set(ends))


def test_a_stalled_engine_shows_the_card(report: dict[str, Any]) -> None:
    pairs = zip(report["stalled_corner"], report["card_corner"], strict=True)
    assert max(abs(a - b) for a, b in pairs) <= 3
    assert report["status"]["card"] is False and report["sender_error"] == ""


def test_states_of_the_device(report: dict[str, Any]) -> None:
    assert report["before"] == ["ready"]
    assert report["kept_size"] == [640, 360] and report["after_reopen"] > 30
    assert report["after_death"] == ["stale"] and report["new"] == "320,240,25/1"
    assert report["after_close"] == ["ready"]
    assert "/dev/video10 (VirtualCam)" in report["missing"]
    assert report["left_in_shm"] == []


def test_camera_in_use_is_explained(report: dict[str, Any]) -> None:
    assert "used by another program" in report["vivid_busy"] and "fuser" in report["vivid_busy"]
    assert "gives no pictures" in report["vivid_free"]
    assert report["vivid_source"] == [640, 360, 25, [[360, 640, 3]]]


def test_removed_device_is_an_error_with_a_remedy(report: dict[str, Any]) -> None:
    assert report["plugged"] == [2, 1]
    assert "is not there" in report["removed"] and "modprobe v4l2loopback" in report["removed"]
    assert "No virtual camera is installed" in report["none_left"]
