"""Where frames are computed: on the host, or on a GPU, behind one small interface.

A frame crosses to the device once and back once. Uploads, work and downloads have a stream each, so
that those of neighbouring frames overlap; events order them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = Any
"""An array of the device's module."""
Event = Any
STREAMS = ("upload", "compute", "download")


class Device(Protocol):
    """A place to compute; used by one thread.

    Attributes:
        name: for people.
        xp: the array module, NumPy's interface.
        uploads, downloads: how many there were.
    """

    name: str
    xp: Any
    uploads: int
    downloads: int

    def on(self, stream: str) -> AbstractContextManager[Any]:
        """What is called inside is queued on one of `STREAMS`, and does not wait for it."""
        ...

    def record(self, stream: str) -> Event:
        """An event that happens when all that was queued on the stream so far is done."""
        ...

    def wait(self, stream: str, event: Event) -> None:
        """What is queued on the stream from now on begins after the event."""
        ...

    def synchronise(self, event: Event) -> None:
        """Wait on the host for the event."""
        ...

    def pinned(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """A host buffer from and to which copies run by themselves."""
        ...

    def empty(self, shape: tuple[int, ...]) -> Array:
        """A device buffer, uint8."""
        ...

    def upload(self, host: NDArray[np.uint8], device: Array) -> None:
        """Queue a copy to the device on the upload stream."""
        ...

    def download(self, device: Array, host: NDArray[np.uint8]) -> None:
        """Queue a copy to the host on the download stream."""
        ...


class HostDevice:
    """The host itself: everything happens at once, in order."""

    name = "host"
    xp = np

    def __init__(self) -> None:
        self.uploads = self.downloads = 0

    def on(self, stream: str) -> AbstractContextManager[Any]:
        """See `Device`."""
        assert stream in STREAMS
        return nullcontext()

    def record(self, stream: str) -> Event:
        """See `Device`."""
        return stream

    def wait(self, stream: str, event: Event) -> None:
        """See `Device`."""

    def synchronise(self, event: Event) -> None:
        """See `Device`."""

    def pinned(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """See `Device`."""
        return np.empty(shape, np.uint8)

    def empty(self, shape: tuple[int, ...]) -> Array:
        """See `Device`."""
        return np.empty(shape, np.uint8)

    def upload(self, host: NDArray[np.uint8], device: Array) -> None:
        """See `Device`."""
        self.uploads += 1
        np.copyto(device, host)

    def download(self, device: Array, host: NDArray[np.uint8]) -> None:
        """See `Device`."""
        self.downloads += 1
        np.copyto(host, device)


class CudaDevice:
    """An NVIDIA GPU through CuPy.

    Raises:
        ImportError: CuPy is not installed.
        Exception: whatever CuPy raises where there is no GPU.
    """

    def __init__(self, number: int = 0) -> None:
        import cupy

        self.xp = cupy
        self._device = cupy.cuda.Device(number)
        self._device.use()
        self.name = f"cuda:{number}"
        self.uploads = self.downloads = 0
        self._streams = {name: cupy.cuda.Stream(non_blocking=True) for name in STREAMS}

    @property
    def compute_stream(self) -> int:
        """Address of the compute stream, for ONNX Runtime's `user_compute_stream`."""
        return int(self._streams["compute"].ptr)

    def on(self, stream: str) -> AbstractContextManager[Any]:
        """See `Device`."""
        return self._entered(stream)

    @contextmanager
    def _entered(self, stream: str) -> Iterator[None]:
        with self._streams[stream]:
            yield

    def record(self, stream: str) -> Event:
        """See `Device`."""
        event = self.xp.cuda.Event(disable_timing=True)
        event.record(self._streams[stream])
        return event

    def wait(self, stream: str, event: Event) -> None:
        """See `Device`."""
        self._streams[stream].wait_event(event)

    def synchronise(self, event: Event) -> None:
        """See `Device`."""
        event.synchronize()

    def pinned(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """See `Device`."""
        count = int(np.prod(shape))
        memory = self.xp.cuda.alloc_pinned_memory(count)
        return np.frombuffer(memory, np.uint8, count).reshape(shape)

    def empty(self, shape: tuple[int, ...]) -> Array:
        """See `Device`."""
        return self.xp.empty(shape, np.uint8)

    def upload(self, host: NDArray[np.uint8], device: Array) -> None:
        """See `Device`."""
        self.uploads += 1
        device.set(host, stream=self._streams["upload"])

    def download(self, device: Array, host: NDArray[np.uint8]) -> None:
        """See `Device`."""
        self.downloads += 1
        device.get(stream=self._streams["download"], out=host, blocking=False)


Work = Callable[[Array], None]
"""Changes a frame on the device in place."""


class Slot:
    """The buffers of one frame under way."""

    def __init__(self, device: Device, shape: tuple[int, ...]) -> None:
        self.sent = device.pinned(shape)
        self.frame = device.empty(shape)
        self.made = device.pinned(shape)
        self.done: Event | None = None


class Overlapped:
    """Keeps several frames under way, so that a frame takes as long as its longest part, not their sum.

    Upload of frame n+1, work on frame n and download of frame n−1 run at the same time; the result of
    a frame comes with the call `depth` frames later. Buffers are made once.

    Args:
        device: where it is computed.
        shape: of the frames, (H, W, 3).
        depth: frames under way; 3 fills all three streams.
    """

    def __init__(self, device: Device, shape: tuple[int, ...], depth: int = 3) -> None:
        self._device = device
        self._depth = depth
        # One more than are under way: the result just given out must outlive the next submission.
        self._slots = [Slot(device, shape) for _ in range(depth + 1)]
        self._next = 0
        self._waiting = 0

    def submit(self, image: NDArray[np.uint8], work: Work) -> NDArray[np.uint8] | None:
        """Queue a frame.

        Args:
            image: uint8, H×W×3; not needed any more when this returns.
            work: called at once with the frame on the device; queues what is to be done.

        Returns:
            The oldest frame's result, valid until the next call; None while the pipeline fills.
        """
        device = self._device
        result = self._collect() if self._waiting == self._depth else None
        slot = self._slots[self._next]
        self._next = (self._next + 1) % len(self._slots)
        np.copyto(slot.sent, image)
        with device.on("upload"):
            device.upload(slot.sent, slot.frame)
        device.wait("compute", device.record("upload"))
        with device.on("compute"):
            work(slot.frame)
        device.wait("download", device.record("compute"))
        with device.on("download"):
            device.download(slot.frame, slot.made)
        slot.done = device.record("download")
        self._waiting += 1
        return result

    def drain(self) -> Iterator[NDArray[np.uint8]]:
        """The results of the frames still under way, in order."""
        while self._waiting:
            yield self._collect()

    def _collect(self) -> NDArray[np.uint8]:
        slot = self._slots[(self._next - self._waiting) % len(self._slots)]
        self._device.synchronise(slot.done)
        self._waiting -= 1
        return slot.made
