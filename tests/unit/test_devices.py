"""Cameras and virtual cameras: what the kernel says is read right, and choosing one is unambiguous."""

from __future__ import annotations

import ctypes
import json
import platform
import sys
from pathlib import Path

import pytest

from engine.devices import Camera, CameraFormat, VirtualCameraDevice, VirtualCameraState, listing, remedies
from engine.errors import DeviceError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="V4L2 exists on Linux only")
if sys.platform == "linux":
    from engine.devices import v4l2

DATA = Path(__file__).parent / "data"


def replay(name: str) -> v4l2.Query:
    """Answers from a device's recorded ioctls (the first two pixel formats of the kernel's vivid driver)."""
    answers = {(request, sent): got for request, sent, got in json.loads((DATA / name).read_text())}

    def ask(request: int, structure: ctypes.Structure) -> bool:
        answer = answers.get((request, bytes(structure).hex()))
        if answer is None:
            return False
        ctypes.memmove(ctypes.addressof(structure), bytes.fromhex(answer), ctypes.sizeof(structure))
        return True

    return ask


def test_request_codes_are_the_kernels() -> None:
    assert (v4l2.G_FMT, v4l2.REQBUFS, v4l2.S_PARM) == (0xC0D05604, 0xC0145608, 0xC0CC5616)
    assert (v4l2.QUERYCAP, v4l2.ENUM_FMT, v4l2.ENUM_FRAMESIZES, v4l2.ENUM_FRAMEINTERVALS, v4l2.STREAMON) == (
        0x80685600,
        0xC0405602,
        0xC02C564A,
        0xC034564B,
        0x40045612,
    )


def test_recorded_webcam() -> None:
    ask = replay("v4l2_vivid.json")
    driver, card, bits = v4l2.capability(ask)
    assert (driver, card) == ("vivid", "vivid")
    assert bits & v4l2.CAP_VIDEO_CAPTURE and not bits & v4l2.CAP_VIDEO_OUTPUT
    camera = Camera(0, card, "/dev/video0", formats=v4l2.formats(ask))
    assert camera.sizes == ((320, 180), (640, 360), (640, 480), (1280, 720), (1920, 1080), (3840, 2160))
    assert {f.fourcc for f in camera.formats} == {"YUYV", "UYVY"}
    assert camera.rates(1280, 720) == camera.rates(1280, 720, "YUYV") == (12.5, 10.0, 5.0, 4.0, 2.0, 1.0)
    assert camera.rates(3840, 2160)[0] < camera.rates(320, 180)[0]
    assert camera.rates(123, 45) == ()


def test_ranges_become_common_sizes_and_rates() -> None:
    """v4l2loopback and some capture cards offer a range (type 3) instead of a list."""

    def ask(request: int, structure: ctypes.Structure) -> bool:
        if structure.index:  # type: ignore[attr-defined]
            return False
        if isinstance(structure, v4l2.FormatDescription):
            structure.pixelformat = int.from_bytes(b"MJPG", "little")
        elif isinstance(structure, v4l2.FrameSize):
            structure.type, structure.values = 3, (2, 1280, 2, 2, 720, 2)
        elif isinstance(structure, v4l2.FrameInterval):
            structure.type, structure.values = 3, (1, 30, 1, 10, 1, 1)
        return True

    formats = v4l2.formats(ask)
    assert formats[0] == CameraFormat("MJPG", 320, 180, (30.0, 25.0, 24.0, 20.0, 15.0, 10.0))
    assert max((f.width, f.height) for f in formats) == (1280, 720)


def test_big_endian_formats_are_told_apart() -> None:
    def ask(request: int, structure: ctypes.Structure) -> bool:
        if isinstance(structure, v4l2.FormatDescription) and structure.index < 2:
            structure.pixelformat = int.from_bytes(b"AR15", "little") | structure.index << 31
            return True
        if isinstance(structure, v4l2.FrameSize) and structure.index == 0:
            structure.type, structure.values = 1, (640, 480)
            return True
        return False

    assert [f.fourcc for f in v4l2.formats(ask)] == ["AR15", "AR15-BE"]


CAMERAS = [Camera(0, "HD Webcam", "/dev/video0"), Camera(2, "HD Webcam", "/dev/video2"), Camera(4, "Capture")]
VIRTUAL = Camera(10, "VirtualCam", "/dev/video10", is_virtual=True)


@pytest.mark.parametrize(("wanted", "index"), [(None, 0), (2, 2), ("4", 4), ("/dev/video2", 2), ("capt", 4)])
def test_find_camera(monkeypatch: pytest.MonkeyPatch, wanted: str | int | None, index: int) -> None:
    monkeypatch.setattr(listing, "_linux_cameras", lambda: [*CAMERAS, VIRTUAL])
    assert listing.find_camera(wanted).index == index


@pytest.mark.parametrize("wanted", ["VirtualCam", "/dev/video10"])
def test_a_virtual_camera_must_be_named_in_full(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    monkeypatch.setattr(listing, "_linux_cameras", lambda: [VIRTUAL])
    assert listing.find_camera(wanted) == VIRTUAL
    with pytest.raises(DeviceError, match="No camera"):
        listing.find_camera()


@pytest.mark.parametrize("wanted", ["HD Webcam", "nothing", 7, "virtual", 10])
def test_find_camera_says_what_is_offered(monkeypatch: pytest.MonkeyPatch, wanted: str | int) -> None:
    monkeypatch.setattr(listing, "_linux_cameras", lambda: [*CAMERAS, VIRTUAL])
    with pytest.raises(DeviceError, match=r"0 \(HD Webcam\), 2 \(HD Webcam\)"):
        listing.find_camera(wanted)


def test_find_virtual_camera_prefers_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = [
        VirtualCameraDevice("Busy", "v4l2loopback", "/dev/video8", VirtualCameraState.BUSY, "in use"),
        VirtualCameraDevice("Other", "v4l2loopback", "/dev/video9"),
        VirtualCameraDevice("Kawari", "v4l2loopback", "/dev/video10", VirtualCameraState.STALE),
    ]
    monkeypatch.setattr(listing, "list_virtual_cameras", lambda: devices)
    assert listing.find_virtual_camera().path == "/dev/video10"
    assert listing.find_virtual_camera("Other").path == "/dev/video9"
    assert listing.find_virtual_camera("/dev/video9").name == "Other"
    with pytest.raises(DeviceError, match="in use"):
        listing.find_virtual_camera("Busy")
    with pytest.raises(DeviceError, match="/dev/video8"):
        listing.find_virtual_camera("none of these")
    monkeypatch.setattr(listing, "list_virtual_cameras", list)
    with pytest.raises(
        DeviceError, match="modprobe v4l2loopback devices=1 exclusive_caps=1 card_label=Kawari"
    ):
        listing.find_virtual_camera()


@pytest.mark.skipif(platform.system() != "Linux" or any(Path("/dev").glob("video*")), reason="has cameras")
def test_machine_without_cameras() -> None:
    assert listing.list_cameras(include_virtual=True) == [] and listing.list_virtual_cameras() == []
    assert listing.present() == ()
    with pytest.raises(DeviceError, match="demo camera"):
        listing.find_camera()
    assert "unplugged" in str(listing.explain(Camera(0, "Gone", "/dev/video0")))


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_every_state_has_a_remedy(system: str) -> None:
    for state in VirtualCameraState:
        assert bool(remedies.for_state(state, system)) == (state is not VirtualCameraState.READY)
    assert ("OBS" in remedies.no_virtual_camera(system)) == (system != "linux")
