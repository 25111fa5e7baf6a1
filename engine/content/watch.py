"""Looks at the output about once a second, off the hot path, and says when it must be covered."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from engine.content.judges import Judge
from engine.sinks.base import StreamInfo
from engine.types import Frame, Output

_PERIOD_S = 1.0
_WINDOW = 3
_POSITIVES = 2


class ContentWatch:
    """A sink that judges one picture a second; two positives among the last three call `act`.

    Whoever acts covers the stream until the user lifts the cover; meanwhile nothing is judged. What the
    leak guard has covered is judged: often that is one region only. Its queue should drop the oldest
    picture and hold one.

    Args:
        act: called with what was seen, on the sink's thread.
        judges: makes the judges; called once, by `open` or else by the first `write`. While pictures
            flow, loading networks would make them late, and on a slow machine pass for a sink that hangs.
        clock: seconds by which a second passes; the time of capture unless given.
    """

    name = "content check"

    def __init__(
        self,
        act: Callable[[str], None],
        judges: Callable[[], Sequence[Judge]],
        clock: Callable[[Frame], float] = lambda frame: frame.captured_ns / 1e9,
    ) -> None:
        self._act = act
        self._make = judges
        self._clock = clock
        self._judges: list[tuple[Judge, deque[bool]]] = []
        self._next = float("-inf")

    def open(self, stream: StreamInfo) -> None:
        """Get ready, and forget what was seen. Raises `ModelError` if a network can't be loaded."""
        del stream
        for _, recent in self._ready():
            recent.clear()
        self._next = float("-inf")

    def write(self, output: Output) -> None:
        """Judge the picture if it is time. Raises `ModelError` if a network can't be loaded."""
        now = self._clock(output.frame)
        if now < self._next or output.reason == "panic":
            return
        self._next = now + _PERIOD_S
        for judge, recent in self._ready():
            recent.append(judge.sees(output))
            if sum(recent) >= _POSITIVES:
                recent.clear()
                self._act(judge.message)

    def settle(self) -> None:
        """A clip or picture has ended: of fewer than three looks, most decide."""
        for judge, recent in self._judges:
            if len(recent) < _WINDOW and 2 * sum(recent) > len(recent):
                self._act(judge.message)

    def _ready(self) -> list[tuple[Judge, deque[bool]]]:
        if not self._judges:
            self._judges = [(judge, deque(maxlen=_WINDOW)) for judge in self._make()]
        return self._judges

    def close(self) -> None:
        """Nothing is held open."""
