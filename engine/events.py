"""What happened, for people and programs: events without Qt."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from engine.buffers import BoundedQueue, Policy

_CAPACITY = 256


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Attributes:
        kind: one of a few fixed words, e.g. "state", "camera-lost", "stage-failed", "quality".
        at_ns: `time.monotonic_ns()`.
        message: a sentence for people; may name a device or a file, so it is never logged.
        data: numbers and fixed words; never pictures, names or paths. This is what is logged.
    """

    kind: str
    at_ns: int
    message: str = ""
    data: Mapping[str, str | int | float | bool] = field(default_factory=dict)


class Report(Protocol):
    """Takes one event from a part of the engine; returns at once."""

    def __call__(self, kind: str, message: str = "", **data: str | int | float | bool) -> None:
        """See `Event`."""
        ...


def silent(kind: str, message: str = "", **data: str | int | float | bool) -> None:
    """A `Report` for nobody."""


class EventBus:
    """Hands events to callbacks on one thread of its own, so that no listener can delay a frame.

    At most 256 events wait; older ones are dropped if a listener is slower than that.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._queue: BoundedQueue[Event] = BoundedQueue(_CAPACITY, Policy.DROP_OLDEST)
        self._callbacks: tuple[Callable[[Event], None], ...] = ()
        self._readers: tuple[BoundedQueue[Event], ...] = ()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def report(self, kind: str, message: str = "", **data: str | int | float | bool) -> None:
        """Queue an event; returns at once."""
        self._queue.put(Event(kind, self._now(), message, data))

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Have `callback` called with each event; the function returned ends it."""
        with self._lock:
            self._callbacks += (callback,)
            if self._thread is None and not self._queue.closed:
                self._thread = threading.Thread(target=self._run, name="kawari-events", daemon=True)
                self._thread.start()

        def unsubscribe() -> None:
            with self._lock:
                self._callbacks = tuple(one for one in self._callbacks if one is not callback)

        return unsubscribe

    def events(self) -> Iterator[Event]:
        """Iterate over events until the bus is closed.

        The subscription begins at the call, not at the first `next`.
        """
        queue: BoundedQueue[Event] = BoundedQueue(_CAPACITY, Policy.DROP_OLDEST)
        with self._lock:
            if self._queue.closed:
                queue.close()
            self._readers += (queue,)
        return self._drain(queue, self.subscribe(_putter(queue)))

    def _drain(self, queue: BoundedQueue[Event], unsubscribe: Callable[[], None]) -> Iterator[Event]:
        try:
            while (event := queue.take()) is not None:
                yield event
        finally:
            unsubscribe()
            with self._lock:
                self._readers = tuple(one for one in self._readers if one is not queue)

    def close(self, timeout: float) -> bool:
        """Deliver what is queued, then end; False if a listener hangs."""
        with self._lock:
            self._queue.close()
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        return not thread.is_alive()

    def _run(self) -> None:
        while (event := self._queue.take()) is not None:
            for callback in self._callbacks:
                try:
                    callback(event)
                except Exception:  # noqa: BLE001, S112 - a listener's fault must not silence the others
                    continue
        with self._lock:
            for reader in self._readers:
                reader.close()


def _putter(queue: BoundedQueue[Event]) -> Callable[[Event], None]:
    def put(event: Event) -> None:
        queue.put(event)

    return put
