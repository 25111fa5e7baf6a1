"""Named daemon threads that run a step again and again, and can be given up when they hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable


class Loop:
    """Runs `step` on a thread of its own until it returns False, is stopped, or abandoned.

    A step that blocks for ever can't be killed; it is *abandoned*: the thread is a daemon, nobody
    waits for it, and its owner throws away whatever it still delivers.

    Args:
        name: the thread's name; begins with "kawari-".
        step: does one piece of work; returns False when there is nothing more to do. Raises only
            for faults of the engine itself, which end the loop and are kept in `error`.
        done: called on the thread when the loop has ended.
    """

    def __init__(self, name: str, step: Callable[[], bool], done: Callable[[], None] = lambda: None) -> None:
        self.name = name
        self._step = step
        self._done = done
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.error: Exception | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end after the present step."""
        self._stop.set()

    @property
    def stopping(self) -> bool:
        """True once `stop` was called."""
        return self._stop.is_set()

    @property
    def alive(self) -> bool:
        """True while the thread runs."""
        return self._thread.is_alive()

    def join(self, timeout: float) -> bool:
        """Wait for the end; False if it still runs."""
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(max(timeout, 0.0))
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            while not self._stop.is_set() and self._step():
                pass
        except Exception as error:  # noqa: BLE001 - kept for the owner
            self.error = error
        finally:
            self._done()


def join_all(loops: Iterable[Loop], timeout: float) -> tuple[str, ...]:
    """Wait for all within one deadline; the names of those that still run."""
    deadline = time.monotonic() + timeout
    return tuple(loop.name for loop in loops if not loop.join(deadline - time.monotonic()))
