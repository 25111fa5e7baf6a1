"""A camera as a source of frames."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Protocol

import cv2

from engine.devices import Camera, explain, find_camera
from engine.errors import DeviceError
from engine.sources.base import SourceInfo
from engine.types import Frame, Image

_OPEN_S = 10.0  # some cameras and drivers need seconds to start
_SILENT_S = 2.0
_CLOSE_S = 0.4


class Capture(Protocol):
    """What is used of `cv2.VideoCapture`."""

    def isOpened(self) -> bool: ...  # noqa: N802, D102
    def set(self, prop: int, value: float, /) -> bool: ...  # noqa: D102
    def get(self, prop: int, /) -> float: ...  # noqa: D102
    def grab(self) -> bool: ...  # noqa: D102
    def retrieve(self) -> tuple[bool, Image]: ...  # noqa: D102
    def release(self) -> None: ...  # noqa: D102


def open_capture(camera: Camera) -> Capture:
    """OpenCV's capture of a camera, with the backend that its index belongs to."""
    return cv2.VideoCapture(camera.index, camera.backend)  # type: ignore[return-value]


class CameraSource:
    """A camera, read with OpenCV.

    A driver may block for ever in any call, so a helper thread of its own makes them all; it keeps the
    newest picture only. Where the camera does not reach the rate asked for with uncompressed pictures,
    Motion JPEG is tried.

    Args:
        camera: index, name (or a unique part of it), path; None takes the first camera.
        size: width and height asked for, pixels; the camera takes the nearest it has.
        fps: rate asked for.
        find, capture: replaced in tests that have no camera.
    """

    def __init__(
        self,
        camera: int | str | None = None,
        *,
        size: tuple[int, int] = (1280, 720),
        fps: float = 30.0,
        find: Callable[[int | str | None], Camera] = find_camera,
        capture: Callable[[Camera], Capture] = open_capture,
    ) -> None:
        self._wanted = camera
        self._size = size
        self._fps = fps
        self._find = find
        self._capture = capture
        self._reader: _Reader | None = None

    def open(self) -> SourceInfo:
        """Open the camera and wait for its first picture.

        Raises:
            DeviceError: there is no such camera, it is busy, or it delivers nothing.
        """
        self.close()
        camera = self._find(self._wanted)
        self._reader = reader = _Reader(lambda: self._capture(camera), self._size, self._fps)
        if not reader.wait(_OPEN_S):
            reader.stop()
            if reader.refused:
                raise explain(camera)
            raise DeviceError(
                f"The camera {camera.name} delivers no picture",
                "Unplug it and plug it in again, or restart it",
            )
        height, width = reader.shape
        return SourceInfo(camera.name, width, height, reader.fps, live=True)

    def read(self) -> Frame | None:
        """The newest picture that was not read yet; None after `close`.

        Raises:
            DeviceError: the camera was unplugged or delivered nothing for two seconds.
        """
        reader = self._reader
        return None if reader is None else reader.take()

    def close(self) -> None:
        """Give the camera back; a waiting `read` returns None."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.stop()


class _Reader:
    """Opens and reads one capture on a daemon thread; survives a driver that never returns."""

    def __init__(self, capture: Callable[[], Capture], size: tuple[int, int], fps: float) -> None:
        self._open_capture = capture
        self._size, self._wanted_fps = size, fps
        self._changed = threading.Condition()
        self._stopped = False
        self._lost = False
        self._newest: Frame | None = None
        self._count = 0
        self.refused = False
        self.fps = fps
        self.shape = (0, 0)
        self._thread = threading.Thread(target=self._run, name="camera", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """True as soon as there is a picture; False after `seconds` without one or on failure."""
        with self._changed:
            self._changed.wait_for(lambda: self._newest or self._lost or self._stopped, seconds)
            return self._newest is not None

    def take(self) -> Frame | None:
        with self._changed:
            ready = self._changed.wait_for(
                lambda: self._newest is not None or self._lost or self._stopped, _SILENT_S
            )
            if self._stopped:
                return None
            frame, self._newest = self._newest, None
        if frame is not None:
            return frame
        if ready:
            raise DeviceError("The camera is gone", "Plug it in again")
        raise DeviceError("The camera delivers no pictures", "Unplug it and plug it in again")

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._newest = None
            self._changed.notify_all()
        # a thread that hangs in the driver is left behind; it releases the camera when it returns
        self._thread.join(_CLOSE_S)

    def _run(self) -> None:
        capture: Capture | None = None
        try:
            capture = self._open_capture()
            if not capture.isOpened():
                self.refused = True
                return
            self.fps = negotiate(capture, self._size, self._wanted_fps)
            while not self._stopped and capture.grab():
                captured = time.monotonic_ns()
                good, image = capture.retrieve()
                if good and image is not None and image.ndim == 3:
                    self._publish(Frame(self._count, captured, image))
        except cv2.error:
            self.refused = self._count == 0
        finally:
            if capture is not None:
                with contextlib.suppress(cv2.error):
                    capture.release()
            with self._changed:
                self._lost = True
                self._changed.notify_all()

    def _publish(self, frame: Frame) -> None:
        with self._changed:
            if not self._stopped:
                self._newest = frame
            self.shape = frame.image.shape[:2]
            self._count += 1
            self._changed.notify_all()


def negotiate(capture: Capture, size: tuple[int, int], fps: float) -> float:
    """Ask for size and rate, with Motion JPEG if that comes nearer; returns the rate agreed on."""

    def ask(fourcc: float) -> tuple[int, float]:
        if fourcc:
            capture.set(cv2.CAP_PROP_FOURCC, fourcc)
        capture.set(cv2.CAP_PROP_FRAME_WIDTH, size[0])
        capture.set(cv2.CAP_PROP_FRAME_HEIGHT, size[1])
        capture.set(cv2.CAP_PROP_FPS, fps)
        width, height = capture.get(cv2.CAP_PROP_FRAME_WIDTH), capture.get(cv2.CAP_PROP_FRAME_HEIGHT)
        rate = capture.get(cv2.CAP_PROP_FPS)
        return round(abs(width - size[0]) + abs(height - size[1])), rate if rate > 0 else fps

    # a second picture in the driver's queue is delay
    capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)
    off, rate = ask(0)
    if off or rate < 0.9 * fps:
        usual = capture.get(cv2.CAP_PROP_FOURCC)
        off_packed, rate_packed = ask(cv2.VideoWriter.fourcc(*"MJPG"))
        if (off_packed, -rate_packed) < (off, -rate):
            return rate_packed
        off, rate = ask(usual)
    return rate
