"""When to try again: back-off between restarts, and a limit on them."""

from __future__ import annotations

from collections import deque

_STABLE_S = 5.0
"""A part that works for so long after a restart has recovered: the next wait is short again."""
_WINDOW_S = 60.0


class Backoff:
    """Waits that double from `first_s` to `longest_s`; any number of tries."""

    def __init__(self, first_s: float, longest_s: float) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._tries = 0
        self._at: int | None = None

    def next_try(self, now_ns: int) -> int:
        """When to try again after a failure now, ns."""
        if self._at is not None and now_ns - self._at > _STABLE_S * 1e9:
            self._tries = 0
        wait_s = min(self._first_s * 2**self._tries, self._longest_s)
        self._tries = min(self._tries + 1, 32)
        self._at = now_ns + int(wait_s * 1e9)
        return self._at


class Limit:
    """Allows so many restarts within a minute."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._times: deque[int] = deque()

    def allows(self, now_ns: int) -> bool:
        """Count a restart; False if that was one too many."""
        while self._times and now_ns - self._times[0] > _WINDOW_S * 1e9:
            self._times.popleft()
        self._times.append(now_ns)
        return len(self._times) <= self._most
