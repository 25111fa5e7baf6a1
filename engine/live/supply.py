"""The source side of a session: captures, one after the other, with restarts by itself."""

from __future__ import annotations

from collections.abc import Callable

from engine.buffers import BoundedQueue, Policy, latest_frame
from engine.config import HealthConfig
from engine.errors import DeviceError
from engine.events import Report
from engine.live.capture import Capture, Captured, describe
from engine.live.threads import Loop, Threads
from engine.live.watchdog import Backoff
from engine.sources.base import Source, SourceInfo

SourceGiver = Callable[[], Source]
_FILE_QUEUE = 4
_OPEN_S = 10.0
"""Some cameras need many seconds to open; after that they count as stuck."""


class Supply:
    """Keeps one capture going. All methods but `frames.take` are called under the session's care.

    Args:
        source: the source, or a function that makes one; with a function, a source that hangs for
            good is replaced by a new one instead of being waited for.
        health: when it counts as lost.
        threads: time, and threads for the captures.
        report: takes events "camera-lost" and "camera-back".
    """

    def __init__(
        self,
        source: Source | SourceGiver,
        health: HealthConfig,
        threads: Threads,
        report: Report,
    ) -> None:
        self._give = Giver(source)
        self._health = health
        self._threads = threads
        self._report = report
        self._backoff = Backoff(health.backoff_s, health.backoff_max_s)
        self._retry_at: int | None = None
        self._was_static = False
        self.frames: BoundedQueue[Captured] = latest_frame()
        self.info: SourceInfo | None = None
        self.capture: Capture
        self.loop: Loop
        self.epoch = 0
        self.restarts = 0
        self.lost = False
        self._past_frames = self._past_corrupt = 0
        self._open()

    def begin(self, info: SourceInfo) -> None:
        """The first opening succeeded: read frames."""
        self.info = info
        if not info.live:
            self.frames = BoundedQueue(_FILE_QUEUE, Policy.BLOCK)
        self.capture.begin(self.frames)

    @property
    def delivered(self) -> int:
        """Frames that all captures delivered."""
        return self._past_frames + self.capture.frames

    @property
    def corrupt(self) -> int:
        """Frames thrown away because they were no picture."""
        return self._past_corrupt + self.capture.corrupt

    def step(self) -> Exception | None:
        """Look after the capture; the error if it can't be kept going."""
        now = self._threads.now()
        if self._retry_at is not None:
            if now >= self._retry_at and (not self.loop.alive or self._give.fresh):
                self._retry_at = None
                self.restarts += 1
                self._open()
            return None
        capture = self.capture
        if capture.info is not None and capture.info is not self.info:
            if capture.info.live is not (self.info is None or self.info.live):
                capture.error = DeviceError(f"{capture.info.name} can't replace the source it follows")
            else:
                self.info = capture.info
                capture.begin(self.frames)
        if self.lost and capture.frames:
            self.lost = False
            self._report("camera-back", "The camera is back", restarts=self.restarts)
        why = self._problem(capture, now)
        if not why:
            return None
        if self.info is not None and not self.info.live:
            return capture.error or self.loop.error
        self._lose(why, now)
        return None

    def switch(self, source: Source | SourceGiver) -> None:
        """Go over to another source; nothing of the old one leaves any more."""
        self._discard()
        self._give = Giver(source)
        self._retry_at = None
        self._was_static = False
        self.lost = True
        self._open()

    def close(self) -> Loop:
        """Close everything; the loop that does it, since a driver may hang."""
        self.frames.close()
        self.capture.give_up()
        return self._discard()

    def _problem(self, capture: Capture, now: int) -> str:
        if capture.error or self.loop.error:
            return "error"
        if capture.ended or (self.info is not None and not self.info.live):
            return ""
        limit_s = self._health.no_frames_s if capture.info else max(_OPEN_S, self._health.no_frames_s)
        if now - capture.alive_ns > limit_s * 1e9:
            return "no-frames"
        if now - capture.changed_ns > self._health.frozen_s * 1e9 and not self._was_static:
            # A screen or another virtual camera may really stand still: it is opened again once.
            self._was_static = True
            return "frozen"
        if capture.changes > 1:
            self._was_static = False
        return ""

    def _lose(self, why: str, now: int) -> None:
        error = self.capture.error
        if not self.lost:
            message = describe(error) or f"The camera is lost: {why}"
            self._report("camera-lost", message, why=why, error=type(error).__name__ if error else "")
        self.lost = True
        self._discard()
        self._retry_at = self._backoff.next_try(now)

    def _discard(self) -> Loop:
        capture = self.capture
        self._past_frames += capture.frames
        self._past_corrupt += capture.corrupt
        capture.frames = capture.corrupt = 0
        capture.give_up()
        self.loop.stop()
        self.epoch += 1

        def close() -> bool:
            capture.close()
            return False

        return self._threads.spawn("kawari-close", close)

    def _open(self) -> None:
        self.capture = Capture(self._give.next(), self.epoch, self._threads)
        self.loop = self._threads.spawn("kawari-capture", self.capture.step)


class Giver:
    """Gives the source for the next opening: always the same, or a new one each time."""

    def __init__(self, source: Source | SourceGiver) -> None:
        self._source = source
        self.fresh = callable(source) and not hasattr(source, "read")

    def next(self) -> Source:
        """The source to open next."""
        return self._source() if self.fresh else self._source  # type: ignore[return-value, operator]
