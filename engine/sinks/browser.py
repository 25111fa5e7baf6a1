"""The newest finished picture as JPEG, for pages in browsers."""

from __future__ import annotations

import threading
from collections.abc import Callable

import cv2

from engine.sinks.base import StreamInfo
from engine.types import Image, Output

QUALITY = 85
"""JPEG quality: below 80 the invisible watermark begins to suffer, above 90 the size doubles."""


class Viewer:
    """One who watches a `BrowserSink`; made by `BrowserSink.watch`. Any thread.

    Use it with `with`, or call `close`: pictures are encoded as long as there is a viewer.
    """

    def __init__(self, sink: BrowserSink, wake: Callable[[], None]) -> None:
        self._sink = sink
        self.wake = wake
        self._seen = 0

    def take(self) -> bytes | None:
        """The newest picture (JPEG), None if it was taken already; those between are left out."""
        number, data = self._sink.newest
        if data is None or number == self._seen:
            return None
        self._seen = number
        return data

    def close(self) -> None:
        """Watch no longer."""
        self._sink.leave(self)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BrowserSink:
    """A sink (see `engine.sinks.base.Sink`) whose pictures any number of viewers may fetch.

    Pictures are encoded once for all, on the sink's own thread, and only while somebody watches. A
    viewer takes the newest whenever it is ready, so that a slow one costs nobody anything. When a
    stream ends, viewers get `card` instead of a frozen face.

    Args:
        card: makes what is shown after the end, from width and height: uint8, H×W×3, BGR.
        quality: of the JPEG, 1..100.
    """

    name = "browser"

    def __init__(self, card: Callable[[int, int], Image], quality: int = QUALITY) -> None:
        self._card = card
        self._quality = quality
        self._lock = threading.Lock()
        self._viewers: tuple[Viewer, ...] = ()
        self._image: Image | None = None
        self._open = False
        self.newest: tuple[int, bytes | None] = (0, None)
        """Counts up with each picture; the JPEG, None while nobody watches."""

    @property
    def picture(self) -> Image | None:
        """The picture that left last, uint8, H×W×3, BGR, not to be written to; None if no stream runs."""
        return self._image if self._open else None

    @property
    def viewers(self) -> int:
        """How many watch now."""
        return len(self._viewers)

    def open(self, stream: StreamInfo) -> None:
        """Begin: nothing of an earlier stream is shown any more."""
        with self._lock:
            self._image = self._card(stream.width, stream.height)
            self._open = True

    def write(self, output: Output) -> None:
        """Keep a picture, and encode it if anybody watches."""
        self._show(output.image)

    def close(self) -> None:
        """End with the card."""
        if self._image is not None:
            height, width = self._image.shape[:2]
            self._show(self._card(width, height))
        self._open = False

    def watch(self, wake: Callable[[], None]) -> Viewer:
        """Begin to watch.

        Args:
            wake: called after each new picture, on the sink's thread; must return at once.
        """
        viewer = Viewer(self, wake)
        with self._lock:
            self._viewers += (viewer,)
            image = self._image if self.newest[1] is None else None
        if image is not None:  # between two pictures, or after the end
            self._publish(image, only_if_none=True)
        return viewer

    def leave(self, viewer: Viewer) -> None:
        """This viewer is gone."""
        with self._lock:
            self._viewers = tuple(one for one in self._viewers if one is not viewer)
            if not self._viewers:
                self.newest = (self.newest[0], None)

    def _show(self, image: Image) -> None:
        with self._lock:
            self._image = image
        if self._viewers:
            self._publish(image)

    def _publish(self, image: Image, only_if_none: bool = False) -> None:
        done, data = cv2.imencode(".jpg", image, (cv2.IMWRITE_JPEG_QUALITY, self._quality))
        assert done
        with self._lock:
            if only_if_none and (self.newest[1] is not None or self._image is not image):
                return  # a newer one came meanwhile
            self.newest = (self.newest[0] + 1, data.tobytes())
            viewers = self._viewers
        for viewer in viewers:
            viewer.wake()
