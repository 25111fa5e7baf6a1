"""Bounded queues with a named policy; nothing in the engine grows without limit."""

from __future__ import annotations

import enum
import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Policy(enum.Enum):
    """What a full queue does with one more item."""

    DROP_OLDEST = "drop-oldest"
    """The oldest item goes: previews and virtual cameras, where only now counts."""
    DROP_NEW = "drop-new"
    """The new item is refused: a recorder of a live stream, which must not stop the others."""
    BLOCK = "block"
    """The producer waits: files, where nothing may be lost."""


class BoundedQueue(Generic[T]):
    """A first-in, first-out queue between two threads.

    Args:
        size: the most items it holds, at least 1.
        policy: see `Policy`.

    Attributes:
        dropped: items dropped or refused because it was full.
    """

    def __init__(self, size: int, policy: Policy) -> None:
        self._items: deque[T] = deque()
        self._size = size
        self._policy = policy
        self._closed = False
        self._changed = threading.Condition()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._items)

    @property
    def closed(self) -> bool:
        """True once `close` was called: nothing more comes in."""
        return self._closed

    def put(self, item: T, timeout: float | None = None) -> bool:
        """Add an item; False if it was refused, the time is over or the queue is closed."""
        with self._changed:
            if self._policy is Policy.BLOCK:
                self._changed.wait_for(lambda: self._closed or len(self._items) < self._size, timeout)
            if self._closed:
                return False
            if len(self._items) >= self._size:
                if self._policy is Policy.BLOCK:
                    return False
                self.dropped += 1
                if self._policy is Policy.DROP_NEW:
                    return False
                self._items.popleft()
            self._items.append(item)
            self._changed.notify_all()
            return True

    def take(self, timeout: float | None = None) -> T | None:
        """The oldest item; None if the time is over, or the queue is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._items, timeout)
            if not self._items:
                return None
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    def clear(self) -> int:
        """Drop everything; the number of items dropped (not counted in `dropped`)."""
        with self._changed:
            count = len(self._items)
            self._items.clear()
            self._changed.notify_all()
            return count

    def close(self) -> None:
        """Refuse new items and wake all waiting threads; what is inside can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def latest_frame() -> BoundedQueue[T]:
    """The buffer between a live source and the engine: the newest frame wins."""
    return BoundedQueue(1, Policy.DROP_OLDEST)
