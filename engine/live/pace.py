"""Evens out the times at which pictures are handed over.

A frame with a moving mouth costs more than one without, so pictures leave the engine at uneven
intervals, which viewers see as stutter. A picture that was made fast waits until it is about as old
as the slowest of the last seconds: the usual play-out buffer of real-time media, measured from the
capture's own times.
"""

from __future__ import annotations

LIMIT_NS = 60_000_000
"""Pictures are never held until they are older than this: beyond it, less delay is worth more."""
_FALL_NS = 150_000
"""The target falls by this with each picture, about 5 ms a second at 30 fps."""


class Pace:
    """Decides how long each picture waits; used by one thread."""

    def __init__(self) -> None:
        self._age_ns = 0

    def wait_ns(self, captured_ns: int, now_ns: int) -> int:
        """How long to wait before handing over a picture, ns; 0 for one that is late anyway.

        Args:
            captured_ns: when its frame was captured.
            now_ns: now.
        """
        age = now_ns - captured_ns
        self._age_ns = max(self._age_ns - _FALL_NS, min(age, LIMIT_NS))
        return max(self._age_ns - age, 0)
