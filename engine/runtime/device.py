"""Where frames are computed: on the host, or on a GPU, behind one small interface.

A frame crosses to the device once and back once. Uploads, work and downloads have a stream each, so
that those of neighbouring frames overlap; events order them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from engine.errors import ModelError
from engine.runtime.gpu import first_gpu

Array = Any
"""An array of the device's module."""
Event = Any
STREAMS = ("upload", "compute", "download")
_SHARE = 0.2
"""Part of the GPU's memory that frames and crops may take: a 4K frame needs 0.1 GB with its crops."""


class Device(Protocol):
    """A place to compute; used by one thread.

    Attributes:
        name: for people.
        memory: ONNX Runtime's name of where its arrays lie, "cpu" or "cuda".
        compute_stream: address of the compute stream, for ONNX Runtime's `user_compute_stream`; 0 for none.
        xp: the array module, NumPy's interface.
        uploads, downloads: how many frames crossed.
    """

    name: str
    memory: str
    compute_stream: int
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

    def happened(self, event: Event) -> bool:
        """Whether `synchronise` need not wait."""
        ...

    def synchronise(self, event: Event) -> None:
        """Wait on the host for the event."""
        ...

    def pinned(self, size: int) -> NDArray[np.uint8]:
        """A host buffer of so many bytes from and to which copies run by themselves."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike = np.uint8) -> Array:
        """A device buffer."""
        ...

    def address(self, array: Array) -> int:
        """Where a device buffer lies."""
        ...

    def keep(self, host: NDArray[Any]) -> Array:
        """A copy on the device of something that stays there from frame to frame."""
        ...

    def upload(self, host: NDArray[np.uint8], device: Array) -> None:
        """Queue a copy to the device on the upload stream."""
        ...

    def download(self, device: Array, host: NDArray[np.uint8]) -> None:
        """Queue a copy to the host on the download stream."""
        ...

    def free(self) -> None:
        """Give memory back that no array uses any more."""
        ...


class HostDevice:
    """The host itself: everything happens at once, in order. For tests; frames are swapped without it."""

    name = "host"
    memory = "cpu"
    compute_stream = 0
    xp: Any = np

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

    def happened(self, event: Event) -> bool:
        """See `Device`."""
        return True

    def synchronise(self, event: Event) -> None:
        """See `Device`."""

    def pinned(self, size: int) -> NDArray[np.uint8]:
        """See `Device`."""
        return np.empty(size, np.uint8)

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike = np.uint8) -> Array:
        """See `Device`."""
        return np.empty(shape, dtype)

    def address(self, array: Array) -> int:
        """See `Device`."""
        return int(array.ctypes.data)

    def keep(self, host: NDArray[Any]) -> Array:
        """See `Device`."""
        return host.copy()

    def upload(self, host: NDArray[np.uint8], device: Array) -> None:
        """See `Device`."""
        self.uploads += 1
        np.copyto(device, host)

    def download(self, device: Array, host: NDArray[np.uint8]) -> None:
        """See `Device`."""
        self.downloads += 1
        np.copyto(host, device)

    def free(self) -> None:
        """See `Device`."""


class CudaDevice:
    """An NVIDIA GPU through CuPy.

    Raises:
        ImportError: CuPy is not installed.
        Exception: whatever CuPy raises where there is no GPU.
    """

    memory = "cuda"

    def __init__(self, number: int = 0) -> None:
        import cupy

        self.xp = cupy
        self.name = f"cuda:{number}"
        self.uploads = self.downloads = 0
        self._device = cupy.cuda.Device(number)
        with self._device:
            # A pool of its own, so that its limit is nobody else's.
            self._pool = cupy.cuda.MemoryPool()
            self._pool.set_limit(size=int(self._device.mem_info[1] * _SHARE))
            self._streams = {name: cupy.cuda.Stream(non_blocking=True) for name in STREAMS}
        self.compute_stream = int(self._streams["compute"].ptr)

    @contextmanager
    def on(self, stream: str) -> Iterator[None]:
        """See `Device`."""
        allocator = self.xp.cuda.using_allocator(self._pool.malloc)
        with self._device, allocator, self._streams[stream]:
            yield

    def record(self, stream: str) -> Event:
        """See `Device`."""
        with self._device:
            event = self.xp.cuda.Event(disable_timing=True)
            event.record(self._streams[stream])
        return event

    def wait(self, stream: str, event: Event) -> None:
        """See `Device`."""
        self._streams[stream].wait_event(event)

    def happened(self, event: Event) -> bool:
        """See `Device`."""
        return bool(event.done)

    def synchronise(self, event: Event) -> None:
        """See `Device`."""
        event.synchronize()

    def pinned(self, size: int) -> NDArray[np.uint8]:
        """See `Device`."""
        return np.frombuffer(self.xp.cuda.alloc_pinned_memory(size), np.uint8, size)

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike = np.uint8) -> Array:
        """See `Device`."""
        with self.on("compute"):
            return self.xp.empty(shape, dtype)

    def address(self, array: Array) -> int:
        """See `Device`."""
        return int(array.data.ptr)

    def keep(self, host: NDArray[Any]) -> Array:
        """See `Device`."""
        with self.on("compute"):
            return self.xp.array(host)

    def upload(self, host: NDArray[np.uint8], device: Array) -> None:
        """See `Device`."""
        self.uploads += 1
        device.set(host, stream=self._streams["upload"])

    def download(self, device: Array, host: NDArray[np.uint8]) -> None:
        """See `Device`."""
        self.downloads += 1
        device.get(stream=self._streams["download"], out=host, blocking=False)

    def free(self) -> None:
        """See `Device`."""
        self._pool.free_all_blocks()


def open_device() -> Device | None:
    """The GPU on which frames may live; None where there is none.

    Raises:
        ModelError: there is a GPU, but no CuPy.
        Exception: CuPy can't use it.
    """
    if first_gpu() is None:
        return None
    try:
        return CudaDevice()
    except ImportError as error:
        raise ModelError("CuPy is not installed", 'Install it with: pip install "kawari[gpu]"') from error
