"""A clip as a source of frames."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

from PIL import Image as PillowImage

from engine.errors import InputError
from engine.sources.animation import AnimationDecoder
from engine.sources.base import SourceInfo
from engine.sources.decode import ClipDecoder, ClipInfo, Decoder, Picture
from engine.types import Frame


class FileSource:
    """A video, GIF or animated picture.

    Args:
        path: the clip.
        loop: start again at the end, for ever.
        realtime: deliver frames at the clip's own pace, as a camera would (`live` is then True).
    """

    def __init__(self, path: str | Path, *, loop: bool = False, realtime: bool = False) -> None:
        self._path = Path(path)
        self._loop = loop
        self._realtime = realtime
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._decoder: Decoder | None = None
        self._pictures: Iterator[Picture] = iter(())
        self._next_id = 0
        self._due = 0.0
        self._last_pts: float | None = None

    def open(self) -> SourceInfo:
        """Open the clip and decode its first frame.

        Raises:
            InputError: no file, not a clip, no video in it, or not one decodable frame.
        """
        self._closed.clear()
        self._next_id = 0
        self._due = time.monotonic()
        self._rewind()
        info = self.clip
        frames = None if self._loop else info.frames
        return SourceInfo(self._path.name, info.width, info.height, info.fps, self._realtime, frames)

    @property
    def clip(self) -> ClipInfo:
        """What the clip is; only while open."""
        assert self._decoder is not None, "open() comes first"
        return self._decoder.info

    @property
    def unreadable(self) -> int:
        """Frames the file should have but that could not be decoded; final after the last `read`."""
        return self._decoder.unreadable if self._decoder else 0

    def read(self) -> Frame | None:
        """The next frame; None at the end and after `close`."""
        with self._lock:
            picture = None if self._closed.is_set() else next(self._pictures, None)
            if picture is None and self._loop and not self._closed.is_set():
                self._rewind()
                picture = next(self._pictures, None)
        if picture is None:
            return None
        if self._realtime and not self._wait_for(picture.pts):
            return None
        frame = Frame(
            self._next_id, time.monotonic_ns(), picture.image, None if self._realtime else picture.pts
        )
        self._next_id += 1
        return frame

    def close(self) -> None:
        """Release the file; a waiting `read` returns None."""
        self._closed.set()
        with self._lock:
            self._release()

    def _release(self) -> None:
        """Let go of the decoder before there is another: two at once would take twice the memory."""
        self._pictures = iter(())
        if self._decoder is not None:
            self._decoder.close()

    def _rewind(self) -> None:
        self._release()
        self._decoder = open_decoder(self._path)
        self._pictures = self._decoder.pictures()
        self._last_pts = None

    def _wait_for(self, pts: float) -> bool:
        """Sleep until the picture is due; False if closed meanwhile."""
        step = 1 / self.clip.fps if self._last_pts is None else pts - self._last_pts
        self._last_pts = pts
        # a reader that came late is not owed a burst of frames
        self._due = max(self._due + step, time.monotonic() - step)
        return not self._closed.wait(max(0.0, self._due - time.monotonic()))


def open_decoder(path: Path) -> Decoder:
    """The decoder that reads this file; raises `InputError`."""
    return AnimationDecoder(path) if _animated_webp(path) else ClipDecoder(path)


def _animated_webp(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(12)
        if head[:4] != b"RIFF" or head[8:] != b"WEBP":
            return False
        with PillowImage.open(path) as image:
            return bool(getattr(image, "is_animated", False))
    except FileNotFoundError as error:
        raise InputError(f"There is no file {path.name}", "Check the path") from error
    except (OSError, ValueError):
        return False
