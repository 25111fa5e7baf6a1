"""Claps: white pictures with clicks at the same moment, made for recorders and found again in their files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import av
import numpy as np

from engine.sound.tape import Samples, Tape

CLICK_S = 0.004


def click(seconds: np.ndarray) -> np.ndarray:
    """A click at time 0: a 2 kHz burst of 4 ms, loudest in its middle."""
    inside = (seconds >= 0) & (seconds < CLICK_S)
    return np.where(inside, 0.9 * np.sin(np.pi * seconds / CLICK_S) * np.sin(4000 * np.pi * seconds), 0)


class DriftingMicrophone:
    """A microphone on simulated time: its clock is off and wanders, its time stamps jitter.

    Args:
        start_ns: when it begins.
        drift: relative error of its sample period at a time, seconds since then.
        claps: when it hears a click, ns; may grow while it runs.
        rate: nominal.
    """

    def __init__(
        self,
        start_ns: int,
        drift: Callable[[float], float],
        claps: list[int],
        rate: int = 48_000,
        *,
        latency_s: float = 0.02,
        jitter_s: float = 0.002,
    ) -> None:
        self.tape = Tape(rate)
        self.users = 0
        self._drift, self._claps, self._rate = drift, claps, rate
        self._start_ns, self._latency_s, self._jitter_s = start_ns, latency_s, jitter_s
        self._at_s = 0.0
        self._rng = np.random.default_rng(5)

    def open(self) -> Tape:
        self.users += 1
        return self.tape

    def close(self) -> None:
        self.users -= 1

    def advance(self, now_ns: int) -> None:
        """Everything that has arrived by now goes on tape."""
        count = self._rate // 100
        while True:
            period_s = (1 + self._drift(self._at_s)) / self._rate
            if self._start_ns + (self._at_s + count * period_s + self._latency_s) * 1e9 > now_ns:
                return
            taken_s = self._at_s + period_s * np.arange(count)
            block: Samples = (self._rng.standard_normal(count) * 0.003).astype(np.float32)
            for clap in self._claps[-2:]:
                block += click(taken_s - (clap - self._start_ns) / 1e9).astype(np.float32)
            jitter_s = self._rng.normal(0, self._jitter_s)
            self.tape.append(block, self._start_ns + round((self._at_s + jitter_s) * 1e9))
            self._at_s += count * period_s


def flashes(path: Path) -> list[float]:
    """When white pictures begin, seconds."""
    found, white = [], True
    with av.open(str(path)) as file:
        for frame in file.decode(video=0):
            bright = float(frame.to_ndarray(format="gray")[::8, ::8].mean()) > 200
            if bright and not white:
                found.append(float(frame.time))
            white = bright
    return found


def clicks(path: Path) -> list[float]:
    """When clicks begin, seconds: half of `CLICK_S` before they are loudest."""
    loud: list[tuple[float, float]] = []
    with av.open(str(path)) as file:
        for frame in file.decode(audio=0):
            samples = np.abs(frame.to_ndarray()[0])
            peak = int(samples.argmax())
            if samples[peak] > 0.3:
                loud.append((float(frame.time) + peak / frame.sample_rate, float(samples[peak])))
    found: list[tuple[float, float]] = []
    for at, level in loud:
        if found and at - found[-1][0] < 0.1:  # one click across two frames
            found[-1] = max(found[-1], (at, level), key=lambda one: one[1])
        else:
            found.append((at, level))
    return [at - CLICK_S / 2 for at, _ in found]


def offsets_ms(path: Path) -> list[float]:
    """How much later than each flash its click is heard, ms; a flash without one within 0.5 s is left out."""
    heard = np.array(clicks(path))
    found = []
    for seen in flashes(path):
        near = heard[np.abs(heard - seen) < 0.5]
        found += [float(near[np.abs(near - seen).argmin()] - seen) * 1e3] if len(near) else []
    return found
