"""A ring of pictures in shared memory: one process writes, another reads the latest whole one.

Neither side ever waits for the other. Each slot carries a sequence number (a seqlock): odd while it
is written, twice the picture's number once it is whole. The reader copies a slot and takes the copy
only if the number was the right one before and still is after; so a torn picture is never shown. With
four slots the writer must lap the reader by three pictures within one copy to make it try again.

Needs nothing but numpy, since the virtual-camera worker has to start fast.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory

import numpy as np
from numpy.typing import NDArray

_MAGIC = 0x4B415741_52494E47
_HEADER_BYTES = 4096
_FIELDS = 5  # magic, width, height, slots, latest; then one sequence number a slot
_LATEST = 4
_ATTEMPTS = 8


class Ring:
    """Shared by exactly one writer and one reader; made by `create`, joined by `attach`.

    Pictures are uint8, height×width×3, BGR. One more picture, the *card*, is written once before the
    reader starts and stays.
    """

    def __init__(self, memory: SharedMemory, width: int, height: int, slots: int) -> None:
        self._memory = memory
        self.width, self.height = width, height
        self._slots = slots
        size = width * height * 3
        self._header = np.ndarray(_HEADER_BYTES // 8, np.int64, memory.buf)
        self._sequence = self._header[_FIELDS : _FIELDS + slots]
        self._pictures = np.ndarray((slots + 1, height, width, 3), np.uint8, memory.buf, _HEADER_BYTES)
        self._fence = threading.Lock()
        assert memory.size >= _HEADER_BYTES + (slots + 1) * size

    @classmethod
    def create(cls, width: int, height: int, slots: int = 4) -> Ring:
        """A new ring; its card is black. The name is free again after `unlink`, or when this process dies.

        Raises:
            OSError: there is not enough shared memory.
        """
        size = _HEADER_BYTES + (slots + 1) * width * height * 3
        if sys.platform == "linux":
            # tmpfs promises any size; the process would be killed when it writes beyond what there is.
            room = os.statvfs("/dev/shm")  # noqa: S108
            if room.f_bavail * room.f_frsize < size:
                raise OSError(errno.ENOSPC, f"{size >> 20} MiB of shared memory are needed")
        # macOS allows 31 characters.
        memory = SharedMemory(f"kawari_{os.urandom(6).hex()}", create=True, size=size)
        header = np.ndarray(_FIELDS, np.int64, memory.buf)
        header[:] = (_MAGIC, width, height, slots, 0)
        return cls(memory, width, height, slots)

    @classmethod
    def attach(cls, name: str) -> Ring:
        """The ring of this name. Raises FileNotFoundError if there is none, ValueError if it is no ring."""
        memory = _attach(name)
        header = np.ndarray(_FIELDS, np.int64, memory.buf)
        magic, width, height, slots, _ = (int(value) for value in header)
        del header
        if magic != _MAGIC:
            memory.close()
            raise ValueError(f"{name} is not a picture ring")
        return cls(memory, width, height, slots)

    @property
    def name(self) -> str:
        """What `attach` takes."""
        return self._memory.name

    @property
    def card(self) -> NDArray[np.uint8]:
        """The picture shown while none arrive; write it before the reader starts."""
        picture: NDArray[np.uint8] = self._pictures[self._slots]
        return picture

    @property
    def latest(self) -> int:
        """Number of the newest whole picture, counted from 1; 0 = none yet."""
        return int(self._header[_LATEST])

    @contextlib.contextmanager
    def writing(self) -> Iterator[NDArray[np.uint8]]:
        """The next slot, to be filled completely; it is published when the block ends without an error."""
        number = self.latest + 1
        slot = number % self._slots
        self._sequence[slot] = 2 * number - 1
        self._barrier()
        yield self._pictures[slot]
        self._barrier()
        self._sequence[slot] = 2 * number
        self._barrier()
        self._header[_LATEST] = number

    def read(self, after: int, into: NDArray[np.uint8]) -> int:
        """Copy the newest whole picture, if its number is above `after`.

        Args:
            after: number of the last picture that was taken, 0 at first.
            into: uint8, height×width×3; what it holds is undefined if 0 is returned.

        Returns:
            The picture's number; 0 if there is nothing newer, or if each one was overwritten while it
            was copied.
        """
        for _ in range(_ATTEMPTS):
            number = self.latest
            if number <= after:
                return 0
            slot = number % self._slots
            self._barrier()
            if int(self._sequence[slot]) != 2 * number:
                continue
            np.copyto(into, self._pictures[slot])
            self._barrier()
            if int(self._sequence[slot]) == 2 * number:
                return number
        return 0

    def close(self) -> None:
        """Leave the ring; the other side may go on."""
        del self._header, self._sequence, self._pictures
        self._memory.close()

    def unlink(self) -> None:
        """Free the memory once both sides have left; only the creator calls this."""
        self._memory.unlink()

    def _barrier(self) -> None:
        """Keeps the order of stores and loads on processors that may change it (ARM): a lock is a fence."""
        with self._fence:
            pass


def _attach(name: str) -> SharedMemory:
    """Open existing shared memory without owning it.

    Before Python 3.13 (`track=False`) every opener is taken for an owner: its resource tracker would
    remove the memory when the worker dies, though the engine still uses it (bpo-38119).
    """
    if sys.version_info >= (3, 13):
        return SharedMemory(name, track=False)
    register = resource_tracker.register
    resource_tracker.register = lambda name, rtype: None
    try:
        return SharedMemory(name)
    finally:
        resource_tracker.register = register
