"""How often something may happen: a token bucket."""

from __future__ import annotations

import time


class Bucket:
    """Lets `rate` things a second happen over time, and `burst` at once. Used by one thread.

    Args:
        rate: per second.
        burst: how many at once after a quiet time.
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._left, self._then = burst, time.monotonic()

    @property
    def wait_s(self) -> float:
        """How long until the next one may happen, seconds; 0 if it may now."""
        now = time.monotonic()
        self._left = min(self._left + (now - self._then) * self._rate, self._burst)
        self._then = now
        return max((1 - self._left) / self._rate, 0.0)

    def take(self) -> bool:
        """Let one happen, if it may."""
        if self.wait_s > 0:
            return False
        self._left -= 1
        return True
