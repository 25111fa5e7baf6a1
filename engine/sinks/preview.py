"""The newest finished picture, for whoever wants to draw it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from engine.sinks.base import StreamInfo
from engine.types import Output


class PreviewSink:
    """Keeps the newest output only; a slow viewer never holds anybody up.

    Args:
        on_output: called on the sink's thread after each new picture, to wake the viewer.
    """

    name = "preview"

    def __init__(self, on_output: Callable[[], None] | None = None) -> None:
        # appending to and popping from a deque are atomic, so neither side ever waits
        self._newest: deque[Output] = deque(maxlen=1)
        self._on_output = on_output

    def open(self, stream: StreamInfo) -> None:
        """Forget what an earlier stream left."""
        self._newest.clear()

    def write(self, output: Output) -> None:
        """Replace the picture that waits, if one does."""
        self._newest.append(output)
        if self._on_output is not None:
            self._on_output()

    def take(self) -> Output | None:
        """The newest output that was not taken yet; any thread."""
        try:
            return self._newest.pop()
        except IndexError:
            return None

    def close(self) -> None:
        """Nothing to release: the last picture may still be taken."""
