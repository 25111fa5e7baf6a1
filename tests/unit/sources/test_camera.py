"""The camera source over stand-ins for a device; `tests/vm/test_camera.py` uses a real one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import cv2
import numpy as np
import pytest

from engine.devices import Camera
from engine.errors import DeviceError
from engine.sources.camera import CameraSource, negotiate
from engine.types import Frame

MJPG = cv2.VideoWriter.fourcc(*"MJPG")
YUYV = cv2.VideoWriter.fourcc(*"YUYV")


class Device:
    """A webcam: YUYV at 720p comes at 10 fps only, MJPG at 30."""

    def __init__(self, *, works: bool = True, mjpg: bool = True, pictures: int = 1_000_000) -> None:
        self.works, self.mjpg, self.left = works, mjpg, pictures
        self.fourcc, self.width, self.height = YUYV, 640, 480
        self.hang = threading.Event()
        self.hang.set()
        self.released = threading.Event()

    def isOpened(self) -> bool:
        return self.works

    def set(self, prop: int, value: float) -> bool:
        if prop == cv2.CAP_PROP_FOURCC and (value != MJPG or self.mjpg):
            self.fourcc = int(value)
        if prop == cv2.CAP_PROP_FRAME_WIDTH:
            self.width = int(value)
        if prop == cv2.CAP_PROP_FRAME_HEIGHT:
            self.height = int(value)
        return True

    def get(self, prop: int) -> float:
        fast = self.fourcc == MJPG or self.width <= 640
        return {
            cv2.CAP_PROP_FOURCC: self.fourcc,
            cv2.CAP_PROP_FRAME_WIDTH: self.width,
            cv2.CAP_PROP_FRAME_HEIGHT: self.height,
            cv2.CAP_PROP_FPS: 30 if fast else 10,
        }.get(prop, 0)

    def grab(self) -> bool:
        time.sleep(0.005)
        self.hang.wait()
        self.left -= 1
        return self.left >= 0

    def retrieve(self) -> tuple[bool, np.ndarray]:
        return True, np.zeros((self.height, self.width, 3), np.uint8)

    def release(self) -> None:
        self.released.set()


def camera(device: Device, open_capture: Callable[[Camera], Device] | None = None) -> CameraSource:
    return CameraSource("Test", find=lambda _: Camera(0, "Test"), capture=open_capture or (lambda _: device))


@pytest.fixture
def device() -> Iterator[Device]:
    device = Device()
    yield device
    device.hang.set()
    device.left = 0


def test_opens_with_motion_jpeg_for_the_rate_and_delivers(device: Device) -> None:
    source = camera(device)
    info = source.open()
    assert (info.name, info.width, info.height, info.fps, info.live) == ("Test", 1280, 720, 30, True)
    assert device.fourcc == MJPG
    frames = [source.read() for _ in range(5)]
    ids = [f.id for f in frames if f]
    assert len(ids) == 5
    assert ids == sorted(set(ids))
    assert all(f is not None and f.pts is None and f.image.shape == (720, 1280, 3) for f in frames)
    source.close()
    assert device.released.wait(1)
    assert source.read() is None


def test_uncompressed_stays_where_it_is_fast_enough_or_all_there_is() -> None:
    small = Device()
    assert negotiate(small, (640, 480), 30) == 30
    assert small.fourcc == YUYV
    plain = Device(mjpg=False)
    assert negotiate(plain, (1280, 720), 30) == 10
    assert plain.fourcc == YUYV


def test_slow_readers_get_the_newest_picture(device: Device) -> None:
    source = camera(device)
    source.open()
    first = source.read()
    time.sleep(0.2)
    later = source.read()
    assert first is not None
    assert later is not None
    assert later.id > first.id + 5
    source.close()


def test_close_wakes_a_read_while_the_driver_hangs(device: Device) -> None:
    source = camera(device)
    source.open()
    device.hang.clear()
    time.sleep(0.05)
    source.read()
    got: list[Frame | None] = []
    reader = threading.Thread(target=lambda: got.append(source.read()))
    reader.start()
    time.sleep(0.05)
    source.close()
    reader.join(1)
    assert not reader.is_alive()
    assert got == [None]
    device.hang.set()
    assert device.released.wait(1)


def test_silence_and_unplugging_are_device_errors(device: Device) -> None:
    source = camera(device)
    source.open()
    device.hang.clear()
    time.sleep(0.05)
    source.read()
    with pytest.raises(DeviceError, match="no pictures"):
        source.read()
    device.left = 0
    device.hang.set()
    with pytest.raises(DeviceError, match="gone"):
        source.read()
    source.close()


def test_opens_again_after_it_was_gone(device: Device) -> None:
    devices = iter([Device(pictures=3), device])
    source = camera(device, lambda _: next(devices))
    source.open()
    with pytest.raises(DeviceError):
        for _ in range(5):
            source.read()
    source.open()
    assert source.read() is not None
    source.close()


def test_a_busy_camera_says_so() -> None:
    source = camera(Device(works=False))
    with pytest.raises(DeviceError, match="can't be opened") as caught:
        source.open()
    assert "Close the program" in caught.value.remedy


def test_a_camera_without_a_picture_says_so() -> None:
    with pytest.raises(DeviceError, match="no picture"):
        camera(Device(pictures=0)).open()


def test_a_missing_camera_says_what_there_is() -> None:
    with pytest.raises(DeviceError):
        CameraSource("no such camera, surely").open()
