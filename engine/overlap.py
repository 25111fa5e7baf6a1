"""Let the producer or the consumer of a sequence run on a thread of its own, in order, bounded."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from engine.buffers import BoundedQueue, Policy

T = TypeVar("T")


@contextlib.contextmanager
def ahead(items: Iterable[T], size: int) -> Iterator[Iterator[T]]:
    """Iterate over `items` on another thread, at most `size` items ahead of whoever takes them.

    An exception of the producer is raised where its next item would have been taken. At the end of the
    block the producer has stopped.
    """
    waiting: BoundedQueue[T] = BoundedQueue(size, Policy.BLOCK)
    errors: list[BaseException] = []

    def produce() -> None:
        try:
            for item in items:
                if not waiting.put(item):
                    return
        except BaseException as error:  # noqa: BLE001 - handed to the consumer
            errors.append(error)
        finally:
            waiting.close()

    def take() -> Iterator[T]:
        while (item := waiting.take()) is not None:
            yield item
        if errors:
            raise errors[0]

    thread = threading.Thread(target=produce, name="ahead", daemon=True)
    thread.start()
    try:
        yield take()
    finally:
        waiting.close()
        thread.join()


class Behind(Generic[T]):
    """Calls `consume` for each item on another thread, at most `size` items behind.

    As a context manager: a block that ends well waits until everything was consumed; one that ends
    with an exception throws away what still waits. An exception of the consumer is raised by the next
    `put`, or at the end of the block.
    """

    def __init__(self, consume: Callable[[T], None], size: int) -> None:
        self._consume = consume
        self._waiting: BoundedQueue[T] = BoundedQueue(size, Policy.BLOCK)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="behind", daemon=True)

    def put(self, item: T) -> None:
        """Hand over an item; blocks while `size` items wait."""
        if not self._waiting.put(item) and self._error is not None:
            raise self._error

    def __enter__(self) -> Behind[T]:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._waiting.close()
        if error is not None:
            self._waiting.clear()
        self._thread.join()
        if error is None and self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            while (item := self._waiting.take()) is not None:
                self._consume(item)
        except BaseException as error:  # noqa: BLE001 - raised again by put and __exit__
            self._error = error
            self._waiting.close()
