"""Runs a whole session on simulated time in one thread: every part, every wait, no luck involved.

Each of the session's threads becomes a greenlet; whoever sleeps hands over to the one that wakes up
next. A second of a session takes some milliseconds, the order of events is set by a seed, and a
hanging camera, model or sink is one that sleeps for long.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from greenlet import getcurrent, greenlet


class SimLoop:
    """Stands in for `engine.live.threads.Loop`."""

    def __init__(self, threads: SimThreads, name: str, step: Callable[[], bool]) -> None:
        self.name = name
        self.error: Exception | None = None
        self.wake = threads.time
        self.done = False
        self._threads = threads
        self._step = step
        self._stopping = False
        self.greenlet = greenlet(self._run, parent=threads.hub)

    def stop(self) -> None:
        self._stopping = True

    @property
    def alive(self) -> bool:
        return not self.done

    def join(self, timeout: float) -> bool:
        deadline = self._threads.time + int(timeout * 1e9)
        if getcurrent() is self.greenlet:
            return True
        while self.alive and self._threads.time < deadline:
            self._threads.sleep(0.001)
        return self.done

    def _run(self) -> None:
        try:
            while not self._stopping and self._step():
                self._threads.pause()
        except Exception as error:  # noqa: BLE001
            self.error = error
        self.done = True


class SimThreads:
    """Stands in for `engine.live.threads.RealThreads`."""

    poll_s = 0.0

    def __init__(self, seed: int) -> None:
        self.time = 1_000_000_000
        self.hub = getcurrent()
        self.loops: list[SimLoop] = []
        self.all_loops: list[SimLoop] = []
        self._random = random.Random(seed)

    def now(self) -> int:
        return self.time

    def sleep(self, seconds: float) -> None:
        wake = self.time + int(seconds * 1e9)
        current = getcurrent()
        if current is self.hub:
            self._run_until(wake)
            return
        next(one for one in self.loops if one.greenlet is current).wake = wake
        self.hub.switch()

    def pause(self) -> None:
        """A step took a little time."""
        self.sleep(self._random.uniform(0.001, 0.006))

    def spawn(self, name: str, step: Callable[[], bool]) -> SimLoop:
        loop = SimLoop(self, name, step)
        self.loops.append(loop)
        self.all_loops.append(loop)
        return loop

    def join(self, timeout: float) -> tuple[str, ...]:
        deadline = self.time + int(timeout * 1e9)
        current = getcurrent()

        def left() -> list[str]:
            return [one.name for one in self.all_loops if one.alive and one.greenlet is not current]

        while left() and self.time < deadline:
            self.sleep(0.002)
        return tuple(left())

    def _run_until(self, end: int) -> None:
        while True:
            self.loops = [one for one in self.loops if one.alive]
            if not self.loops:
                break
            loop = min(self.loops, key=lambda one: one.wake)
            if loop.wake > end:
                break
            self.time = max(self.time, loop.wake)
            loop.greenlet.switch()
        self.time = max(self.time, end)
