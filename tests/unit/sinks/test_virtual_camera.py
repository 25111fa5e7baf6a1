"""The virtual-camera sink and its real worker process, with shared memory in the driver's place."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from engine.cards import draw_card
from engine.errors import DeviceError
from engine.sinks import worker_process
from engine.sinks.base import StreamInfo
from engine.sinks.ring import Ring
from engine.sinks.virtual_camera import VirtualCamera
from engine.sinks.worker_process import _loaded
from engine.types import Frame, Output
from tests.conftest import ROOT

W, H = 160, 90
STREAM = StreamInfo(W, H, 60, live=True)


def output(value: int, width: int = W, height: int = H) -> Output:
    image = np.full((height, width, 3), value, np.uint8)
    return Output(Frame(value, time.monotonic_ns(), image), image)


def eventually(condition: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


class Viewer:
    """Stands where a program that reads the camera stands."""

    def __init__(self, width: int = W, height: int = H) -> None:
        self.ring = Ring.create(width, height)
        self._picture = np.zeros((height, width, 3), np.uint8)
        self._number = 0

    def look(self) -> np.ndarray:
        """What is seen now."""
        into = np.empty_like(self._picture)
        number = self.ring.read(self._number, into)
        if number:
            self._picture, self._number = into, number
        return self._picture

    def sees(self, value: int) -> bool:
        return bool((self.look() == value).all())

    def sees_card(self) -> bool:
        picture = self.look()
        return bool((picture == draw_card(picture.shape[1], picture.shape[0], "panic")).all())


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    viewer = Viewer()
    yield viewer
    viewer.ring.close()
    viewer.ring.unlink()


@pytest.fixture
def camera(viewer: Viewer) -> Iterator[VirtualCamera]:
    camera = VirtualCamera(viewer.ring.name, backend="memory")
    camera.open(STREAM)
    yield camera
    camera.close()


def pid(camera: VirtualCamera) -> int:
    assert camera._worker is not None and camera._worker.pid is not None
    return camera._worker.pid


def restarts(camera: VirtualCamera) -> int:
    assert camera.status is not None
    return camera.status.restarts


def stream_until(camera: VirtualCamera, viewer: Viewer, value: int) -> None:
    def arrived() -> bool:
        camera.write(output(value))
        return viewer.sees(value)

    eventually(arrived)


def test_card_then_pictures_then_card(camera: VirtualCamera, viewer: Viewer) -> None:
    eventually(viewer.sees_card)
    for value in (10, 20, 30):
        stream_until(camera, viewer, value)
    eventually(viewer.sees_card)
    stream_until(camera, viewer, 40)
    camera.close()
    assert viewer.sees_card()


def test_other_sizes_are_fitted(camera: VirtualCamera, viewer: Viewer) -> None:
    def arrived() -> bool:
        camera.write(output(90, 90, 90))
        return bool((viewer.look()[:, W // 2] == 90).all())

    eventually(arrived)
    assert (viewer.look()[:, :30] == 0).all()


def test_a_given_size_is_kept_and_made_even() -> None:
    viewer = Viewer(64, 48)
    camera = VirtualCamera(viewer.ring.name, size=(65, 49), fps=500, backend="memory", fit="crop")
    camera.open(STREAM)
    try:
        assert camera.status is not None
        assert (camera.status.width, camera.status.height, camera.status.fps) == (64, 48, 120)
        stream_until(camera, viewer, 55)
    finally:
        camera.close()
        viewer.ring.close()
        viewer.ring.unlink()


def test_a_killed_worker_is_replaced(camera: VirtualCamera, viewer: Viewer) -> None:
    stream_until(camera, viewer, 10)
    psutil.Process(pid(camera)).kill()
    stream_until(camera, viewer, 20)
    assert restarts(camera) == 1


def standby(camera: VirtualCamera) -> psutil.Process:
    assert camera._worker is not None
    eventually(lambda: camera._worker and camera._worker._standby and _loaded(camera._worker._standby))
    assert camera._worker._standby is not None
    return psutil.Process(camera._worker._standby.pid)


def test_the_worker_that_stands_by_takes_over(camera: VirtualCamera, viewer: Viewer) -> None:
    stream_until(camera, viewer, 10)
    for value in (20, 30):
        spare = standby(camera)
        psutil.Process(pid(camera)).kill()
        eventually(lambda spare=spare: pid(camera) == spare.pid)
        stream_until(camera, viewer, value)
    camera.close()
    assert not spare.is_running()


def test_it_goes_without_one_that_stands_by(camera: VirtualCamera, viewer: Viewer) -> None:
    spare = standby(camera)
    spare.kill()
    eventually(lambda: not spare.is_running() or spare.status() == psutil.STATUS_ZOMBIE)
    psutil.Process(pid(camera)).kill()
    eventually(lambda: restarts(camera) == 1)
    stream_until(camera, viewer, 20)
    assert pid(camera) != spare.pid


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")
def test_a_hanging_worker_is_replaced(camera: VirtualCamera, viewer: Viewer) -> None:
    stream_until(camera, viewer, 10)
    hung = pid(camera)
    os.kill(hung, signal.SIGSTOP)
    stream_until(camera, viewer, 20)
    assert restarts(camera) == 1 and not psutil.pid_exists(hung)


def test_a_worker_that_keeps_dying_becomes_an_error(camera: VirtualCamera, viewer: Viewer) -> None:
    def dies() -> bool:
        with contextlib.suppress(psutil.NoSuchProcess, AssertionError):
            psutil.Process(pid(camera)).kill()
        try:
            camera.write(output(1))
        except DeviceError as error:
            return "keeps dying" in str(error) and error.exit_code == 4
        return False

    eventually(dies)
    assert restarts(camera) == worker_process._RESTARTS


def test_no_device_is_an_error_with_a_remedy() -> None:
    if sys.platform == "linux" and any(Path("/sys/class/video4linux").glob("*")):
        pytest.skip("has video devices")
    with pytest.raises(DeviceError) as caught:
        VirtualCamera().open(STREAM)
    assert caught.value.remedy and caught.value.exit_code == 4
    with pytest.raises(DeviceError, match="not open"):
        VirtualCamera().write(output(1))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system itself refuses")
def test_too_little_shared_memory_is_an_error_not_a_crash() -> None:
    camera = VirtualCamera("nowhere", size=(400_000, 400_000), backend="memory")
    with pytest.raises(DeviceError, match="smaller picture size"):
        camera.open(STREAM)
    assert camera.status is None


def test_nothing_is_left_behind(viewer: Viewer) -> None:
    threads = set(threading.enumerate())
    for _ in range(3):
        camera = VirtualCamera(viewer.ring.name, backend="memory")
        camera.open(STREAM)
        worker = pid(camera)
        assert camera._ring is not None
        name = camera._ring.name
        camera.write(output(3))
        camera.close()
        camera.close()
        assert not psutil.pid_exists(worker)
        assert set(threading.enumerate()) == threads
        with pytest.raises(FileNotFoundError):
            Ring.attach(name)


ENGINE = """
import sys, time, numpy as np
from engine.sinks.virtual_camera import VirtualCamera
from tests.unit.sinks.test_virtual_camera import STREAM, output
camera = VirtualCamera(sys.argv[1], backend="memory")
camera.open(STREAM)
print(camera._worker.pid, camera._ring.name, flush=True)
while True:
    camera.write(output(50))
    time.sleep(0.01)
"""


def test_a_killed_engine_leaves_a_card_then_nothing(viewer: Viewer) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ENGINE, viewer.ring.name],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    worker, name = process.stdout.readline().split()
    eventually(lambda: viewer.sees(50))
    process.kill()
    process.wait()
    process.stdout.close()
    eventually(viewer.sees_card)
    assert psutil.pid_exists(int(worker))
    eventually(lambda: not psutil.pid_exists(int(worker)))

    def gone() -> bool:
        try:
            Ring.attach(name).close()
        except FileNotFoundError:
            return True
        return False

    eventually(gone)


def test_the_worker_imports_little() -> None:
    """It must start in a fraction of a second, and run where OpenCV or Qt can't."""
    code = "import engine.sinks.virtual_camera_worker, sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in json.loads(done.stdout)}
    assert not loaded & {"cv2", "PySide6", "onnxruntime", "av", "PIL", "scipy", "app", "models"}
    assert {"numpy", "engine"} <= loaded


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
def test_refused_writes_are_noticed() -> None:
    """pyvirtualcam tells of a failed write only on the C library's standard error."""
    code = (
        "import os; from engine.sinks.virtual_camera_worker import _Complaints\n"
        "complaints = _Complaints(); assert complaints.read() == ''\n"
        "os.write(2, b'error writing frame: No such device'); print(complaints.read())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "error writing frame: No such device" and done.stderr == ""
