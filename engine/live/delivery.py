"""One sink, its queue and its thread: a slow, failing or hanging sink never disturbs the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.buffers import BoundedQueue, Policy
from engine.errors import DeviceError
from engine.live.pace import Pace
from engine.live.threads import Threads
from engine.metrics import Histogram, Percentiles, Rate, Recent
from engine.sinks.base import Sink, StreamInfo
from engine.types import Output

_FAULTS = 10
"""Faults in a row after which a sink counts as gone."""


@dataclass(frozen=True, slots=True)
class SinkStats:
    """One sink in short.

    Attributes:
        written: pictures delivered.
        dropped: pictures that its full queue dropped or refused.
        faults: writes that raised.
        delay: from capture to hand-over.
        interval: between two hand-overs.
        fps: pictures per second now.
        failed: why it was given up; empty if it works.
        recent_ms: the usual delay of the last two seconds or so.
    """

    name: str
    written: int
    dropped: int
    faults: int
    delay: Percentiles
    interval: Percentiles
    fps: float
    failed: str
    recent_ms: float = 0.0


class Delivery:
    """Feeds one sink. `step` runs on the sink's own thread.

    Args:
        sink: opened by the first step, closed by the last.
        stream: what it is told when it is opened.
        policy: what its full queue does.
        size: length of the queue.
        threads: its clock.
        last_check: applied to each picture right before it is handed over.

    Attributes:
        opened: it was opened at least once.
        error: why it can't go on.
        busy_ns: since when the present `open` or `write` runs; 0 if none does. `close` may take as
            long as it needs: a recorder finishes its file.
    """

    def __init__(
        self,
        sink: Sink,
        stream: StreamInfo,
        policy: Policy,
        size: int,
        threads: Threads,
        last_check: Callable[[Output], Output] = lambda output: output,
    ) -> None:
        self.sink = sink
        self.queue: BoundedQueue[Output] = BoundedQueue(size, policy)
        self.policy = policy
        self.stream = stream
        self._threads = threads
        self._now = threads.now
        self._poll_s = threads.poll_s
        self._pace = Pace() if stream.live else None
        self._last_check = last_check
        self._row = 0
        self._last_ns = 0
        self._delay = Histogram()
        self._interval = Histogram()
        self._rate = Rate()
        self._recent = Recent()
        self.opened = False
        self.error: Exception | None = None
        self.busy_ns = 0
        self.written = 0
        self.faults = 0

    def step(self) -> bool:
        """Open the sink, or hand over one picture; False when it is finished."""
        if not self.opened:
            return self._open()
        output = self.queue.take(self._poll_s)
        if output is None:
            if self.queue.closed:
                self._close()
                return False
            return True
        if self._pace is not None and not self.queue.closed:
            wait_ns = self._pace.wait_ns(output.frame.captured_ns, self._now())
            if wait_ns:
                self._threads.sleep(wait_ns / 1e9)
        return self._write(self._last_check(output))

    def inherit(self, old: Delivery) -> None:
        """Continue the figures of an earlier delivery to the same sink."""
        self.written, self.faults = old.written, old.faults
        self._delay, self._interval, self._rate = old._delay, old._interval, old._rate
        self.queue.dropped = old.queue.dropped

    def stats(self) -> SinkStats:
        """Figures so far."""
        return SinkStats(
            self.sink.name,
            self.written,
            self.queue.dropped,
            self.faults,
            self._delay.percentiles(),
            self._interval.percentiles(),
            self._rate.per_second(self._now()),
            type(self.error).__name__ if self.error else "",
            self._recent.usual_ns / 1e6,
        )

    def _open(self) -> bool:
        self.busy_ns = self._now()
        try:
            self.sink.open(self.stream)
        except Exception as error:  # noqa: BLE001 - a broken driver may raise anything
            self.error = error
            return False
        finally:
            self.busy_ns = 0
        self.opened = True
        return True

    def _write(self, output: Output) -> bool:
        self.busy_ns = self._now()
        try:
            self.sink.write(output)
        except Exception as error:  # noqa: BLE001
            self.faults += 1
            self._row += 1
            if isinstance(error, DeviceError) or self._row >= _FAULTS:
                self.error = error
                self._close()
                return False
            return True
        finally:
            self.busy_ns = 0
        now = self._now()
        self._row = 0
        self.written += 1
        if output.image is not output.frame.image:  # a card of the session has no capture time
            self._delay.record(now - output.frame.captured_ns)
            self._recent.record(now - output.frame.captured_ns)
        if self._last_ns:
            self._interval.record(now - self._last_ns)
        self._last_ns = now
        self._rate.tick(now)
        return True

    def _close(self) -> None:
        self.queue.close()
        try:
            self.sink.close()
        except Exception as error:  # noqa: BLE001
            self.error = self.error or error
