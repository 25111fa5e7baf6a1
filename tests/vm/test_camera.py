"""A real camera device, in the guest of ../shared/vmcam: the kernel's vivid driver at /dev/video0."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from engine.devices import list_cameras
from engine.errors import DeviceError
from engine.sources.camera import CameraSource

pytestmark = [
    pytest.mark.vm,
    pytest.mark.skipif(not Path("/dev/video0").exists(), reason="no camera at /dev/video0"),
]


@pytest.mark.parametrize("by", ["index", "path", "name"])
def test_pictures_come(by: str) -> None:
    camera = list_cameras()[0]
    wanted: int | str = {"index": camera.index, "path": camera.path, "name": camera.name}[by]
    source = CameraSource(wanted, size=(640, 360), fps=25)
    info = source.open()
    assert (info.width, info.height, info.live) == (640, 360, True)
    assert info.fps >= 20
    frames = [source.read() for _ in range(10)]
    source.close()
    assert source.read() is None
    images = [f.image for f in frames if f]
    assert len(images) == 10
    assert images[0].shape == (360, 640, 3)
    assert images[0].std() > 20  # vivid's colour bars
    assert any(not np.array_equal(images[0], other) for other in images[1:])  # and its counter
    ids = [f.id for f in frames if f]
    assert ids == sorted(set(ids))


def test_an_impossible_size_gets_the_nearest() -> None:
    source = CameraSource(0, size=(650, 370), fps=30)
    info = source.open()
    frame = source.read()
    source.close()
    assert frame is not None
    assert frame.image.shape == (info.height, info.width, 3)
    assert abs(info.width - 650) < 100


def test_close_from_another_thread_and_open_again() -> None:
    source = CameraSource(0, size=(640, 360))
    for _ in range(3):
        source.open()
        got: list[object] = []

        def drain(found: list[object] = got) -> None:
            while source.read() is not None:
                pass
            found.append("ended")

        reader = threading.Thread(target=drain)
        reader.start()
        time.sleep(0.2)
        source.close()
        reader.join(1)
        assert not reader.is_alive()
        assert got == ["ended"]


def test_a_camera_in_use_is_refused() -> None:
    first, second = CameraSource(0, size=(640, 360)), CameraSource(0, size=(1280, 720))
    first.open()
    first.read()
    with pytest.raises(DeviceError):
        second.open()
    second.close()
    assert first.read() is not None
    first.close()
