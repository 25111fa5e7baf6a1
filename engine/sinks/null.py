"""A sink that only counts."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass

import numpy as np

from engine.sinks.base import StreamInfo
from engine.types import Output, Shown


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """What arrived at a sink.

    Attributes:
        outputs: pictures.
        skipped: frames of the source that never arrived (gaps in their ids).
        shown: number of outputs by what they show (`Shown.value`).
        fps: pictures per second from the first to the last.
        interval_ms: 50th, 95th and 100th percentile of the time between two pictures, over the
            last 20 minutes or so.
        delay_ms: the same for the time from capture to arrival.
    """

    outputs: int
    skipped: int
    shown: dict[str, int]
    fps: float
    interval_ms: tuple[float, float, float]
    delay_ms: tuple[float, float, float]


_KEPT = 36_000  # intervals and delays remembered


class NullSink:
    """Throws pictures away and keeps statistics of them."""

    name = "null"

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._outputs = 0
        self._first_ns = self._last_ns = 0
        self._intervals: deque[int] = deque(maxlen=_KEPT)
        self._delays: deque[int] = deque(maxlen=_KEPT)
        self._shown: Counter[Shown] = Counter()
        self._first_id = self._last_id = -1
        self._ids = 0

    def open(self, stream: StreamInfo) -> None:
        """Start counting afresh."""
        self._reset()

    def write(self, output: Output) -> None:
        """Count one picture."""
        now = time.monotonic_ns()
        if self._outputs:
            self._intervals.append(now - self._last_ns)
        else:
            self._first_ns = now
        self._last_ns = now
        self._outputs += 1
        self._delays.append(now - output.frame.captured_ns)
        self._shown[output.shown] += 1
        if self._first_id < 0:
            self._first_id = output.frame.id
        self._ids += output.frame.id != self._last_id
        self._last_id = output.frame.id

    def close(self) -> None:
        """The statistics stay."""

    @property
    def statistics(self) -> StreamStatistics:
        """What arrived so far."""
        span = (self._last_ns - self._first_ns) / 1e9
        return StreamStatistics(
            outputs=self._outputs,
            skipped=self._last_id - self._first_id + 1 - self._ids if self._ids else 0,
            shown={shown.value: count for shown, count in self._shown.items()},
            fps=(self._outputs - 1) / span if span else 0.0,
            interval_ms=_percentiles(self._intervals),
            delay_ms=_percentiles(self._delays),
        )


def _percentiles(nanoseconds: deque[int]) -> tuple[float, float, float]:
    values = np.asarray(nanoseconds, np.float64) / 1e6
    if not values.size:
        return 0.0, 0.0, 0.0
    p50, p95, top = np.percentile(values, (50, 95, 100))
    return float(p50), float(p95), float(top)
