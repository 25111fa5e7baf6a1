"""Looks at the output about once a second, off the hot path, and covers it when it must."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from engine.content.nudity import THRESHOLD, NudityCheck
from engine.sinks.base import StreamInfo
from engine.types import Image, Output, Shown

_PERIOD_NS = 1_000_000_000
_WINDOW = 3
_POSITIVES = 2


class ContentWatch:
    """A sink that judges one picture a second; two positives among the last three call `cover`.

    It is called once: the cover stays until the user lifts it, since nothing can be judged behind it.
    Its queue should drop the oldest picture and hold one.

    Args:
        cover: covers the stream; called on the sink's thread.
        score: scores a picture 0..1; the nudity check unless given.
    """

    name = "content check"

    def __init__(self, cover: Callable[[], None], score: Callable[[Image], float] | None = None) -> None:
        self._cover = cover
        self._score = score
        self._recent: deque[bool] = deque(maxlen=_WINDOW)
        self._next_ns = 0

    def open(self, stream: StreamInfo) -> None:
        """Forget what was seen. The network is loaded by the first picture: nobody waits for it."""
        del stream
        self._recent.clear()
        self._next_ns = 0

    def write(self, output: Output) -> None:
        """Judge the picture if it is time. Raises `ModelError` if the network can't be loaded."""
        now_ns = output.frame.captured_ns
        if now_ns < self._next_ns or output.shown is Shown.COVERED:
            return
        if self._score is None:
            self._score = NudityCheck().score
        self._next_ns = now_ns + _PERIOD_NS
        self._recent.append(self._score(output.image) >= THRESHOLD)
        if sum(self._recent) >= _POSITIVES:
            self._recent.clear()
            self._cover()

    def close(self) -> None:
        """Nothing is held open."""
