"""The virtual camera: what Kawari makes, as a camera that every program can choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.cards import draw_card
from engine.devices import find_virtual_camera, remedies
from engine.devices.camera import VirtualCameraState
from engine.errors import DeviceError
from engine.sinks.base import StreamInfo
from engine.sinks.fit import Fit, fit_into
from engine.sinks.ring import Ring
from engine.sinks.worker_process import Failure, WorkerProcess
from engine.types import Image, Output

_RATES = (1.0, 120.0)


@dataclass(frozen=True, slots=True)
class VirtualCameraStatus:
    """How the virtual camera does.

    Attributes:
        device: as the driver names it.
        width, height: pixels that viewers get.
        fps: nominal frames per second.
        sent: pictures the present worker sent, repeats and cards included.
        repeated: of these, repeats in gaps of the stream.
        card: the card is shown now.
        restarts: workers that had to be replaced.
    """

    device: str
    width: int
    height: int
    fps: float
    sent: int
    repeated: int
    card: bool
    restarts: int


class VirtualCamera:
    """A sink (see `engine.sinks.base.Sink`) that other programs see as a camera.

    Pictures go through shared memory to a worker process (see `virtual_camera_worker`), which sends
    them on, shows `card` when none come for a second, and is replaced when it dies.

    Args:
        device: name or path of the virtual camera; None = the first usable one.
        size: width and height that viewers get; None = those of the stream. Made even; where a program
            that reads the camera already holds it at another size, that size is kept.
        fps: nominal frames per second, 1..120; None = those of the stream.
        fit: how pictures of another shape are fitted.
        card: makes what is shown while nothing new comes, from width and height: uint8, H×W×3, BGR;
            None = a neutral card without marks.
        backend: "memory" sends into the `Ring` named by `device` instead of a driver, for tests.
    """

    name = "virtual camera"

    def __init__(
        self,
        device: str | None = None,
        *,
        size: tuple[int, int] | None = None,
        fps: float | None = None,
        fit: Fit = "letterbox",
        card: Callable[[int, int], Image] | None = None,
        backend: str | None = None,
    ) -> None:
        self._device, self._size, self._fps, self._fit = device, size, fps, fit
        self._card, self._backend = card, backend
        self._ring: Ring | None = None
        self._worker: WorkerProcess | None = None
        self._rate = 0.0

    def open(self, stream: StreamInfo) -> None:
        """Start the worker and wait until the device is open (about half a second).

        Raises:
            DeviceError: there is no such virtual camera, it is busy, or it can't be opened.
        """
        self.close()
        device, backend = self._device, self._backend
        if backend != "memory":
            found = find_virtual_camera(device)
            device, backend = found.path, found.backend
        self._rate = min(max(self._fps or stream.fps, _RATES[0]), _RATES[1])
        failure = self._start(device, backend, self._size or (stream.width, stream.height))
        if failure is not None and failure.kind == "size":
            self.close()
            failure = self._start(device, backend, (failure.details["width"], failure.details["height"]))
        if failure is not None:
            self.close()
            raise _error(failure)

    def _start(self, device: str | None, backend: str | None, size: tuple[int, int]) -> Failure | None:
        # Drivers take 4:2:0 video: even sizes only.
        width, height = (max(2, side // 2 * 2) for side in size)
        try:
            self._ring = Ring.create(width, height)
        except OSError as error:
            raise DeviceError(
                f"There is no room for the virtual camera's pictures: {error.strerror}",
                "Choose a smaller picture size, or make /dev/shm larger",
            ) from error
        fit_into(
            draw_card(width, height, "panic") if self._card is None else self._card(width, height),
            self._ring.card,
            self._fit,
        )
        arguments = ["--ring", self._ring.name, "--fps", str(self._rate)]
        for option, value in (("--device", device), ("--backend", backend)):
            arguments += [option, value] if value else []
        self._worker = WorkerProcess(arguments)
        return self._worker.start()

    def write(self, output: Output) -> None:
        """Hand one picture to the worker; never waits for it.

        Raises:
            DeviceError: the device is gone, or its worker could not be kept alive.
        """
        if self._ring is None or self._worker is None:
            raise DeviceError("The virtual camera is not open")
        failure = self._worker.check()
        if failure is not None:
            raise _error(failure)
        with self._ring.writing() as slot:
            fit_into(output.image, slot, self._fit)
        self._worker.notify()

    def close(self) -> None:
        """Leave the card behind, end the worker and free the device and the memory. May be called twice."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None
        if self._ring is not None:
            self._ring.close()
            self._ring.unlink()
            self._ring = None

    @property
    def status(self) -> VirtualCameraStatus | None:
        """How it does; None while it is closed."""
        ring, worker = self._ring, self._worker
        if ring is None or worker is None:
            return None
        state = worker.state
        return VirtualCameraStatus(
            worker.device,
            ring.width,
            ring.height,
            self._rate,
            int(state.get("sent", 0)),
            int(state.get("repeated", 0)),
            bool(state.get("card", True)),
            worker.restarts,
        )


def _error(failure: Failure) -> DeviceError:
    match failure.kind:
        case "busy":
            return DeviceError(
                "Another program uses the virtual camera", remedies.for_state(VirtualCameraState.BUSY)
            )
        case "no-access":
            return DeviceError(
                "The virtual camera may not be opened", remedies.for_state(VirtualCameraState.NO_ACCESS)
            )
        case "missing":
            return DeviceError("The virtual camera is not there", remedies.no_virtual_camera())
        case "gone":
            return DeviceError(
                f"The virtual camera takes no more pictures ({failure.message})", remedies.no_virtual_camera()
            )
        case "size":
            return DeviceError(
                "A program that reads the virtual camera holds it at another size",
                "Close the programs that use it, then start again",
            )
        case "package":
            return DeviceError(failure.message, "Run: pip install pyvirtualcam")
        case _:
            return DeviceError(
                f"The virtual camera can't be used: {failure.message}", "Run kawari doctor for details"
            )
