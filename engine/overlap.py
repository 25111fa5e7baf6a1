"""Let the producer or the consumer of a sequence run on a thread of its own, in order, bounded."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
_POLL_S = 0.05


class _End:
    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


@contextlib.contextmanager
def ahead(items: Iterable[T], size: int) -> Iterator[Iterator[T]]:
    """Iterate over `items` on another thread, at most `size` items ahead of whoever takes them.

    An exception of the producer is raised where its next item would have been taken. At the end of the
    block the producer has stopped.
    """
    waiting: queue.Queue[T | _End] = queue.Queue(size)
    stop = threading.Event()

    def put(item: T | _End) -> bool:
        while not stop.is_set():
            with contextlib.suppress(queue.Full):
                waiting.put(item, timeout=_POLL_S)
                return True
        return False

    def produce() -> None:
        try:
            for item in items:
                if not put(item):
                    return
            put(_End())
        except BaseException as error:  # noqa: BLE001 - handed to the consumer
            put(_End(error))

    def take() -> Iterator[T]:
        while not isinstance(item := waiting.get(), _End):
            yield item
        if item.error is not None:
            raise item.error

    thread = threading.Thread(target=produce, name="ahead", daemon=True)
    thread.start()
    try:
        yield take()
    finally:
        stop.set()
        thread.join()


class Behind(Generic[T]):
    """Calls `consume` for each item on another thread, at most `size` items behind.

    As a context manager: a block that ends well waits until everything was consumed; one that ends
    with an exception throws away what still waits. An exception of the consumer is raised by the next
    `put`, or at the end of the block.
    """

    def __init__(self, consume: Callable[[T], None], size: int) -> None:
        self._consume = consume
        self._waiting: queue.Queue[T | _End] = queue.Queue(size)
        self._error: BaseException | None = None
        self._abandoned = threading.Event()
        self._thread = threading.Thread(target=self._run, name="behind", daemon=True)

    def put(self, item: T) -> None:
        """Hand over an item; blocks while `size` items wait."""
        if self._error is not None:
            raise self._error
        self._waiting.put(item)

    def __enter__(self) -> Behind[T]:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._abandoned.set()
        self._waiting.put(_End())
        self._thread.join()
        if error is None and self._error is not None:
            raise self._error

    def _run(self) -> None:
        # goes on emptying the queue after a failure, so that nobody waits for room in it
        while not isinstance(item := self._waiting.get(), _End):
            if self._error is None and not self._abandoned.is_set():
                try:
                    self._consume(item)
                except BaseException as error:  # noqa: BLE001 - raised again by put and __exit__
                    self._error = error
