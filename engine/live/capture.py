"""Reads one source on a thread of its own and keeps only what the engine can use."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from engine.buffers import BoundedQueue
from engine.errors import KawariError
from engine.live.threads import Threads
from engine.sources.base import Source, SourceInfo
from engine.types import Frame

_SAMPLES = 24
"""Pixels compared per row and column to tell whether a picture repeats the last one."""


@dataclass(frozen=True, slots=True)
class Captured:
    """A frame and the capture it came from.

    Attributes:
        epoch: number of the capture; frames of an older one are thrown away.
        frame: None says that there are no more.
    """

    epoch: int
    frame: Frame | None


class Capture:
    """One opening of one source. Its `step` runs on its own thread; the watchdog reads the rest.

    Args:
        source: opened by the first step, closed by `close`.
        epoch: its number, counting up with each capture of a session.
        threads: its clock.

    Attributes:
        info: what the source said when it was opened; None before.
        ended: it delivered its last frame.
        error: why it can't go on; None while it can.
        alive_ns: when it last showed life (made, opened, delivered).
        changed_ns: when the picture last changed.
        changes: how often it did, the first one included.
        corrupt: frames thrown away because they were no picture.
        frames: frames delivered.
    """

    def __init__(self, source: Source, epoch: int, threads: Threads) -> None:
        self.source = source
        self.epoch = epoch
        self._queue: BoundedQueue[Captured] | None = None
        self._begun = threading.Event()
        self._now = now = threads.now
        self._poll_s = threads.poll_s
        self._given_up = threading.Event()
        self._signature: bytes | None = None
        self.info: SourceInfo | None = None
        self.ended = False
        self.error: Exception | None = None
        self.alive_ns = self.changed_ns = now()
        self.changes = 0
        self.corrupt = 0
        self.frames = 0

    def begin(self, queue: BoundedQueue[Captured]) -> None:
        """Deliver into `queue` from now on; until then an opened source is not read."""
        self._queue = queue
        self.alive_ns = self.changed_ns = self._now()
        self._begun.set()

    def step(self) -> bool:
        """Open the source, or read one frame; False when there is nothing more to read."""
        try:
            if self.info is None:
                self.info = self.source.open()
                self.alive_ns = self.changed_ns = self._now()
                return not self._given_up.is_set()
            if not self._begun.wait(self._poll_s):
                return True
            if self._given_up.is_set() or self._queue is None:
                return False
            frame = self.source.read()
        except Exception as error:  # noqa: BLE001 - a broken driver may raise anything
            if not self._given_up.is_set():
                self.error = error
            return False
        if self._given_up.is_set():
            return False
        if frame is None:
            self.ended = True
            self._queue.put(Captured(self.epoch, None))
            return False
        if not is_picture(frame.image):
            self.corrupt += 1
            return True
        self.alive_ns = self._now()
        self._watch_change(frame)
        self._queue.put(Captured(self.epoch, frame))
        self.frames += 1
        return True

    def close(self) -> None:
        """Close the source so that a blocked read returns; may itself block if a driver hangs."""
        self.give_up()
        try:
            self.source.close()
        except Exception as error:  # noqa: BLE001
            self.error = self.error or error

    def give_up(self) -> None:
        """Throw away whatever it still delivers."""
        self._given_up.set()
        self._begun.set()

    def _watch_change(self, frame: Frame) -> None:
        image = frame.image
        rows, columns = image.shape[:2]
        signature = image[:: max(rows // _SAMPLES, 1), :: max(columns // _SAMPLES, 1)].tobytes()
        if signature != self._signature:
            self._signature = signature
            self.changes += 1
            self.changed_ns = self.alive_ns


def is_picture(image: object) -> bool:
    """True for a non-empty uint8 H×W×3 array; drivers have been seen to deliver anything else."""
    return (
        isinstance(image, np.ndarray)
        and image.dtype == np.uint8
        and image.ndim == 3
        and image.shape[2] == 3
        and image.size > 0
    )


def describe(error: BaseException | None) -> str:
    """An error in a sentence for people."""
    if isinstance(error, KawariError):
        return str(error)
    return f"{type(error).__name__}: {error}" if error else ""
