"""Several frames under way on a device, so that a frame takes as long as its longest part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.device import Array, Device, Event
from engine.types import Image

DEPTH = 3
"""Frames under way that fill all three streams."""
NOTES = 64
"""Bytes that come back behind each frame, for what the work has to tell without a copy of its own."""

Work = Callable[[Array, Array], None]
"""Given a frame on the device, changes it in place; and `NOTES` bytes, 0 at first, that it may write to."""


class _Slot:
    """The buffers of one frame."""

    def __init__(self, device: Device, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.size = int(np.prod(shape))
        self.sent = device.pinned(self.size)
        self.made = device.pinned(self.size + NOTES)
        self.there = device.empty((self.size + NOTES,))

    @property
    def frame(self) -> Array:
        return self.there[: self.size].reshape(self.shape)

    @property
    def notes(self) -> Array:
        return self.there[self.size :]


class Crossing:
    """A frame on its way to the device and back; `result` may be called once."""

    def __init__(self, device: Device, slot: _Slot, done: Event, give_back: Callable[[_Slot], None]) -> None:
        self._device = device
        self._slot = slot
        self._done = done
        self._give_back = give_back

    @property
    def ready(self) -> bool:
        """True once `result` need not wait."""
        return self._device.happened(self._done)

    def result(self) -> tuple[Image, NDArray[np.uint8]]:
        """Wait for the frame: a copy of it, and of the notes.

        Raises:
            Exception: whatever the device raises, also for what was queued long before.
        """
        slot = self._slot
        self._device.synchronise(self._done)
        image, notes = slot.made[: slot.size].reshape(slot.shape).copy(), slot.made[slot.size :].copy()
        self._give_back(slot)
        return image, notes


class Overlapped:
    """Sends frames through a device.

    Upload of frame n+1, work on frame n and download of frame n-1 run at the same time if `DEPTH`
    frames are submitted before the oldest result is asked for. Buffers are made once for each frame
    under way, and again when the frames' shape changes.

    Args:
        device: where it is computed.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._free: list[_Slot] = []

    def submit(self, image: NDArray[np.uint8], work: Work) -> Crossing:
        """Queue a frame.

        Args:
            image: uint8, H×W×3; not needed any more when this returns.
            work: called at once; queues what is to be done.

        Raises:
            Exception: whatever the device or the work raises.
        """
        device = self._device
        slot = self._slot(image.shape)
        np.copyto(slot.sent.reshape(slot.shape), image)
        with device.on("upload"):
            device.upload(slot.sent, slot.there[: slot.size])
        device.wait("compute", device.record("upload"))
        with device.on("compute"):
            slot.notes[...] = 0
            work(slot.frame, slot.notes)
        device.wait("download", device.record("compute"))
        with device.on("download"):
            device.download(slot.there, slot.made)
        return Crossing(device, slot, device.record("download"), self._free.append)

    def _slot(self, shape: tuple[Any, ...]) -> _Slot:
        self._free[:] = [slot for slot in self._free if slot.shape == shape]
        return self._free.pop() if self._free else _Slot(self._device, shape)
