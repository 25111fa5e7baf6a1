"""Histograms and counters that cost nothing on the hot path.

Buckets as in HdrHistogram (Gil Tene, public domain): each power of two is cut into equal parts, so
the relative error is the same everywhere and the memory is fixed. Recording a value is two shifts
and one addition.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

_PARTS_BITS = 5
"""2^5 parts per power of two: values are exact to 1/64, about 1.6 %."""
_PARTS = 1 << _PARTS_BITS
_UNIT_SHIFT = 13
"""Values are counted in units of 2^13 ns, about 8 µs."""
_POWERS = 24
"""Up to 2^(13+5+24) ns, about an hour."""


@dataclass(frozen=True, slots=True)
class Percentiles:
    """A histogram in short; milliseconds. All zero if `count` is 0."""

    count: int = 0
    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    max: float = 0.0
    mean: float = 0.0


class Histogram:
    """Durations of one kind. One thread records, any thread reads."""

    def __init__(self) -> None:
        self._counts = [0] * (_PARTS * (_POWERS + 1))
        self._count = 0
        self._total = 0
        self._max = 0

    def __len__(self) -> int:
        return self._count

    def record(self, ns: int) -> None:
        """Count one duration in nanoseconds; negative ones count as 0."""
        ns = max(ns, 0)
        value = ns >> _UNIT_SHIFT
        shift = max(value.bit_length() - _PARTS_BITS - 1, 0)
        index = (shift << _PARTS_BITS) + (value >> shift)
        self._counts[min(index, len(self._counts) - 1)] += 1
        self._count += 1
        self._total += ns
        self._max = max(self._max, ns)

    def clear(self) -> None:
        """Forget everything."""
        for index in range(len(self._counts)):
            self._counts[index] = 0
        self._count = self._total = self._max = 0

    def quantile(self, q: float) -> float:
        """The value in milliseconds that a share `q` (0..1) of the durations does not exceed."""
        counts = self._counts.copy()
        rank, seen = max(math.ceil(q * sum(counts)), 1), 0
        for index, count in enumerate(counts):
            seen += count
            if seen >= rank:
                return min(_middle(index), float(self._max)) / 1e6
        return 0.0

    def percentiles(self) -> Percentiles:
        """p50, p95, p99, maximum and mean."""
        if not self._count:
            return Percentiles()
        return Percentiles(
            self._count,
            self.quantile(0.50),
            self.quantile(0.95),
            self.quantile(0.99),
            self._max / 1e6,
            self._total / self._count / 1e6,
        )


def _middle(index: int) -> float:
    """Middle of a bucket, ns."""
    shift = max((index >> _PARTS_BITS) - 1, 0)
    part = index - (shift << _PARTS_BITS)
    return (part + 0.5) * (1 << shift) * (1 << _UNIT_SHIFT)


class Recent:
    """A quantile of the last `window` durations. One thread records, any thread reads.

    Args:
        window: durations that count.
        share: of them are not longer than it; by default it is the (lower) median.

    Attributes:
        usual_ns: the quantile, one of the durations; 0 before the first.
    """

    def __init__(self, window: int = 60, share: float = 0.5) -> None:
        self._durations: deque[int] = deque(maxlen=window)
        self._share = share
        self.usual_ns = 0

    def record(self, ns: int) -> None:
        """Count one duration."""
        self._durations.append(ns)
        self.usual_ns = sorted(self._durations)[math.ceil(self._share * len(self._durations)) - 1]


class Rate:
    """Events per second over the last `window` of them."""

    def __init__(self, window: int = 60) -> None:
        self._times: deque[int] = deque(maxlen=window)

    def tick(self, now_ns: int) -> None:
        """Count one event."""
        self._times.append(now_ns)

    def per_second(self, now_ns: int) -> float:
        """The rate now; falls to 0 if nothing comes any more."""
        times = tuple(self._times)
        if len(times) < 2:
            return 0.0
        span = max(times[-1] - times[0], 1)
        gap = now_ns - times[-1]
        if gap > 2 * span / (len(times) - 1):
            span += gap
        return (len(times) - 1) * 1e9 / span
