"""The last seconds of a microphone, to be read at any time and rate."""

from __future__ import annotations

import threading
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.sound.clock import SampleClock

Samples: TypeAlias = NDArray[np.float32]
"""float32, N, one channel, -1..1."""

_TAPS = 32
_PHASES = 512
"""Steps between two samples; the nearest is taken, an error below -60 dB."""
_EDGE = _TAPS // 2
_FOLLOW_S = 0.5
"""Time in which a reader's small error goes away."""
_SLEW = 0.005
"""A reader runs at most this much too fast or slow: 9 cents, which voices bear unnoticed."""


class Tape:
    """A ring of samples with their times. One thread appends, others read through `Playhead`.

    Args:
        rate: samples per second, nominal.
        seconds: how long they are kept.
    """

    def __init__(self, rate: float, seconds: float = 12.0) -> None:
        self.rate = rate
        self._ring: Samples = np.zeros(round(rate * seconds), np.float32)
        self._end = 0
        self._clock = SampleClock(rate)
        self._lock = threading.Lock()

    def append(self, samples: Samples, at_ns: int) -> None:
        """Add the next block.

        Where time stamps say that samples were lost (an overrun, a driver that catches up), silence
        takes their place.

        Args:
            samples: float32, N.
            at_ns: when the first was taken, `time.monotonic_ns()`; a few milliseconds of jitter are fine.
        """
        with self._lock:
            late_s = self._clock.update(self._end, at_ns)
            if late_s > 0:
                self._write(np.zeros(round(late_s * self.rate), np.float32))
                self._clock.restart(self._end, at_ns)
            self._write(samples)

    @property
    def started(self) -> bool:
        """False until the first block."""
        return self._clock.started

    @property
    def drift(self) -> float:
        """Relative error of the device's sample period; see `SampleClock`."""
        return self._clock.drift

    def reaches(self, at_ns: float) -> bool:
        """Whether sound until this time, `time.monotonic_ns()`, is here."""
        with self._lock:
            return self._clock.started and self._clock.index_at(at_ns) <= self._end - _EDGE

    @property
    def newest_ns(self) -> float:
        """Until when sound can be read now, `time.monotonic_ns()`; only after the first block."""
        with self._lock:
            return self._clock.time_at(self._end - _EDGE)

    def locate(self, at_ns: float) -> tuple[float, float] | None:
        """The sample, with fraction, taken at that time, and the samples a second; None before the first."""
        with self._lock:
            if not self._clock.started:
                return None
            return self._clock.index_at(at_ns), 1e9 / self._clock.period_ns

    def window(self, first: int, count: int) -> Samples:
        """Samples by number; zeros for those that are not here any more, or not yet."""
        with self._lock:
            numbers = np.arange(first, first + count)
            found = self._ring[numbers % len(self._ring)]
            here = (numbers >= max(0, self._end - len(self._ring))) & (numbers < self._end)
            return np.where(here, found, np.float32(0))

    def _write(self, samples: Samples) -> None:
        size = len(self._ring)
        self._end += max(0, len(samples) - size)  # longer than the tape: only its end is kept
        samples = samples[-size:]
        start = self._end % size
        first = min(len(samples), size - start)
        self._ring[start : start + first] = samples[:first]
        self._ring[: len(samples) - first] = samples[first:]
        self._end += len(samples)


class Playhead:
    """Reads a tape block by block at a steady rate of the system's clock, resampling as the device drifts.

    Used by one thread.

    Args:
        tape: what is read.
        rate: samples per second to give.
        jump_s: a place that is off by more is jumped to; less is caught up with smoothly.
    """

    def __init__(self, tape: Tape, rate: float, jump_s: float = 0.02) -> None:
        self._tape, self._rate, self._jump_s = tape, rate, jump_s
        self._kernel = _kernel(min(1.0, rate / tape.rate))
        self._place: float | None = None

    def read(self, at_ns: float, count: int) -> Samples:
        """The samples taken from `at_ns` on; silence where there is none.

        Args:
            at_ns: `time.monotonic_ns()`; should go on where the last block ended.
            count: how many, at the reader's rate.
        """
        found = self._tape.locate(at_ns)
        if found is None:
            return np.zeros(count, np.float32)
        wanted, per_second = found
        step = per_second / self._rate
        if self._place is None or abs(wanted - self._place) > self._jump_s * self._tape.rate:
            self._place = wanted
        pull = (wanted - self._place) / (_FOLLOW_S * self._rate)
        step += float(np.clip(pull, -_SLEW * step, _SLEW * step))
        places = np.asarray(self._place + step * np.arange(count), np.float64)
        self._place += step * count
        return self._interpolate(places)

    def jump(self) -> None:
        """Go straight to the next place that is read."""
        self._place = None

    def age_s(self, at_ns: float) -> float | None:
        """How long before that time the next sample was taken, seconds; None before the first."""
        found = self._tape.locate(at_ns)
        return None if found is None or self._place is None else (found[0] - self._place) / found[1]

    def _interpolate(self, places: NDArray[np.float64]) -> Samples:
        phases = np.rint(places * _PHASES).astype(np.int64)
        whole, part = phases // _PHASES, phases % _PHASES
        first = int(whole[0]) - _EDGE + 1
        held = self._tape.window(first, int(whole[-1]) - int(whole[0]) + _TAPS)
        rows = np.lib.stride_tricks.sliding_window_view(held, _TAPS)[whole - whole[0]]
        return np.asarray(np.einsum("ij,ij->i", rows, self._kernel[part]), np.float32)


def _kernel(cutoff: float) -> NDArray[np.float32]:
    """Windowed-sinc interpolation (Smith and Gossett, 1984), one row of 32 taps for each phase.

    Args:
        cutoff: passband over the tape's own; below 1 where the reader's rate is lower. A twentieth is
            left for the slope; the Kaiser window's β of 8 damps by 80 dB.
    """
    offsets = np.arange(_TAPS) - (_EDGE - 1) - np.arange(_PHASES)[:, None] / _PHASES
    window = np.i0(8.0 * np.sqrt(np.clip(1 - (offsets / _EDGE) ** 2, 0, None)))
    rows = np.sinc(0.95 * cutoff * offsets) * window
    return np.asarray(rows / rows.sum(1, keepdims=True), np.float32)
