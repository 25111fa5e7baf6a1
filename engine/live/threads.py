"""Named daemon threads that run a step again and again, and can be given up when they hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

Step = Callable[[], bool]
"""Does one piece of work; returns False when there is nothing more to do."""


class Loop:
    """Runs a step on a thread of its own until it returns False or the loop is stopped.

    A step that blocks for ever can't be killed; it is *abandoned*: the thread is a daemon, nobody
    waits for it, and its owner throws away whatever it still delivers.

    Attributes:
        name: the thread's name.
        error: what the step raised, which ended the loop; None if it did not raise.
    """

    def __init__(self, name: str, step: Step) -> None:
        self.name = name
        self.error: Exception | None = None
        self._step = step
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end after the present step."""
        self._stop.set()

    @property
    def alive(self) -> bool:
        """True while the thread runs."""
        return self._thread.is_alive()

    def join(self, timeout: float) -> bool:
        """Wait for the end; False if it still runs, and not on this very thread."""
        if self._thread is threading.current_thread():
            return True
        self._thread.join(max(timeout, 0.0))
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            while not self._stop.is_set() and self._step():
                pass
        except Exception as error:  # noqa: BLE001 - kept for the owner
            self.error = error


class Threads(Protocol):
    """Time and threads of one session; tests replace it to run a session step by step."""

    poll_s: float
    """How long a step may wait for something to do."""

    def now(self) -> int:
        """Monotonic time, ns."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def spawn(self, name: str, step: Step) -> Loop:
        """Start a loop."""
        ...

    def join(self, timeout: float) -> tuple[str, ...]:
        """Wait for all loops within one deadline; the names of those that still run."""
        ...


class RealThreads:
    """`Threads` of the operating system."""

    poll_s = 0.1

    def __init__(self) -> None:
        self._loops: list[Loop] = []
        self._lock = threading.Lock()

    def now(self) -> int:
        """See `Threads`."""
        return time.monotonic_ns()

    def sleep(self, seconds: float) -> None:
        """See `Threads`."""
        time.sleep(seconds)

    def spawn(self, name: str, step: Step) -> Loop:
        """See `Threads`."""
        loop = Loop(name, step)
        with self._lock:
            self._loops = [one for one in self._loops if one.alive]
            self._loops.append(loop)
        return loop

    def join(self, timeout: float) -> tuple[str, ...]:
        """See `Threads`."""
        deadline = time.monotonic() + timeout
        with self._lock:
            loops = tuple(self._loops)
        return tuple(loop.name for loop in loops if not loop.join(deadline - time.monotonic()))
