"""A still picture as a source of frames."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from PIL import Image as PillowImage

from engine.identity.picture import FORMATS, read_picture
from engine.sources.base import SourceInfo
from engine.types import Frame, Image

# Major brands of ISO base media files that hold one picture (HEIF, ISO/IEC 23008-12; AVIF).
_STILL_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"mif1", b"avif")


class StillSource:
    """One picture, delivered once or again and again.

    Args:
        path: any file `read_picture` reads.
        fps: None delivers it once, in full size; a number delivers copies at that rate, as a camera
            would (`live` is then True), reduced to at most 1920 pixels.
    """

    def __init__(self, path: str | Path, *, fps: float | None = None) -> None:
        self._path = Path(path)
        self._fps = fps
        self._image: Image | None = None
        self._next_id = 0
        self._due = 0.0
        self._closed = threading.Event()

    def open(self) -> SourceInfo:
        """Read the picture. Raises `InputError`."""
        self._image = read_picture(self._path, max_side=1920 if self._fps else None)
        self._next_id = 0
        self._due = time.monotonic()
        self._closed.clear()
        height, width = self._image.shape[:2]
        live = self._fps is not None
        return SourceInfo(self._path.name, width, height, self._fps or 1.0, live, None if live else 1)

    def read(self) -> Frame | None:
        """The picture; None after the only one and after `close`."""
        image = self._image
        if image is None or self._closed.is_set() or (self._fps is None and self._next_id):
            return None
        if self._fps is not None:
            self._due = max(self._due + 1 / self._fps, time.monotonic() - 1 / self._fps)
            if self._closed.wait(max(0.0, self._due - time.monotonic())):
                return None
        frame = Frame(self._next_id, time.monotonic_ns(), image, None if self._fps else 0.0)
        self._next_id += 1
        return frame

    def close(self) -> None:
        """Release the picture; a waiting `read` returns None."""
        self._closed.set()
        self._image = None


def is_still(path: str | Path) -> bool:
    """Whether the file's content is one picture; animations and everything else are not."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(12)
            if head[4:8] == b"ftyp":
                return head[8:] in _STILL_BRANDS
            file.seek(0)
            with PillowImage.open(file, formats=FORMATS) as image:
                moves = image.format in ("GIF", "PNG", "WEBP") and getattr(image, "is_animated", False)
                return not moves
    except (OSError, ValueError, SyntaxError, PillowImage.DecompressionBombError):
        return False
