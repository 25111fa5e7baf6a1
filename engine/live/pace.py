"""Evens out the times at which pictures are handed over.

A frame with a moving mouth costs more than one without, so pictures leave the engine at uneven
intervals, which viewers see as stutter. A picture that was made fast waits until it is about as old
as nearly all of the last seconds: the usual play-out buffer of real-time media, measured from the
capture's own times. The few slowest do not count: all pictures would be late for their sake.
"""

from __future__ import annotations

from engine.metrics import Recent

LIMIT_NS = 60_000_000
"""Pictures are never held until they are older than this: beyond it, less delay is worth more."""
_RECENT = 90
"""Pictures that are looked at, 3 s at 30 fps."""
_SHARE = 0.95
"""Of them are in time. The delay's 95th percentile is thus what it would be without any waiting."""
_FALL_NS = 150_000
"""The target falls by this with each picture at most, about 5 ms a second at 30 fps."""


class Pace:
    """Decides how long each picture waits; used by one thread."""

    def __init__(self) -> None:
        self._ages = Recent(_RECENT, _SHARE)
        self._target_ns = 0

    def wait_ns(self, captured_ns: int, now_ns: int) -> int:
        """How long to wait before handing over a picture, ns; 0 for one that is late anyway.

        Args:
            captured_ns: when its frame was captured.
            now_ns: now.
        """
        age = now_ns - captured_ns
        self._ages.record(min(age, LIMIT_NS))
        self._target_ns = max(self._target_ns - _FALL_NS, self._ages.usual_ns)
        return max(self._target_ns - age, 0)
