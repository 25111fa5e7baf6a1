"""Recording the finished pictures of a live stream."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.container import OutputContainer

from engine.atomic import writing
from engine.errors import UsageError
from engine.sinks.base import StreamInfo
from engine.sinks.encoder import Codec, VideoFormat, VideoTrack
from engine.sinks.fit import fit_into
from engine.types import Image, Output
from engine.yuv import BT709, LIMITED, ColourTags

# "hybrid": fragments while recording, so that a killed process leaves a playable file, and an ordinary
# index, which every editor reads, once it was closed (FFmpeg 8)
_CONTAINERS: dict[str, tuple[str, dict[str, str]]] = {
    ".mp4": ("mp4", {"movflags": "hybrid_fragmented", "frag_duration": "1000000"}),
    ".mov": ("mov", {"movflags": "hybrid_fragmented", "frag_duration": "1000000"}),
    ".mkv": ("matroska", {"cluster_time_limit": "1000"}),
}
RECORDING_SUFFIXES = tuple(_CONTAINERS)
"""Endings that `Recorder` can write."""

_BASE = Fraction(1, 90_000)
_NS_PER_TICK = 1_000_000_000 / 90_000


class Recorder:
    """Writes H.264 with each picture at the time its frame was captured.

    The first picture's size, made even by leaving out a row or column, is the recording's; pictures of
    another size are fitted into it. A crash loses at most about the last two seconds.

    Args:
        path: `.mp4`, `.mov` or `.mkv`; replaced if it exists.
        preset, crf: x264's speed and constant quality.
        finish: called with the finished file (the manifest).

    Raises:
        UsageError: the name ends otherwise.
    """

    name = "recorder"

    def __init__(
        self,
        path: str | Path,
        *,
        preset: str = "veryfast",
        crf: int = 20,
        finish: Callable[[Path], None] | None = None,
    ) -> None:
        self._finish = finish
        self._path = Path(path)
        if self._path.suffix.lower() not in _CONTAINERS:
            raise UsageError(
                f"Kawari can't record to {self._path.name}", f"Use one of {', '.join(RECORDING_SUFFIXES)}"
            )
        self._codec = Codec("libx264", {"crf": str(crf), "preset": preset}, odd_sizes=False)
        self._stream: StreamInfo | None = None
        self._file: OutputContainer | None = None
        self._track: VideoTrack | None = None
        self._canvas: Image | None = None
        self._first_ns = 0
        self._last = -1

    def open(self, stream: StreamInfo) -> None:
        """Create the file. Raises `UsageError` or `DeviceError`."""
        if not self._path.parent.is_dir():
            raise UsageError(f"There is no folder {self._path.parent}", "Create it, or choose another one")
        container, options = _CONTAINERS[self._path.suffix.lower()]
        self._stream, self._track, self._last = stream, None, -1
        with writing(self._path):
            self._file = av.open(
                str(self._path),
                "w",
                format=container,
                container_options={**options, "flush_packets": "1"},
            )

    def write(self, output: Output) -> None:
        """Add a picture.

        Raises:
            DeviceError: the disk is full or gone; what was recorded so far is kept.
        """
        if self._file is None:
            return
        image = output.image
        if self._track is None:
            self._start(image, output.frame.captured_ns)
        assert self._track is not None
        assert self._canvas is not None
        tick = round((output.frame.captured_ns - self._first_ns) / _NS_PER_TICK)
        # a picture shown again (a hold, a card) carries its old time
        self._last = max(self._last + 1, tick)
        height, width = self._canvas.shape[:2]
        if 0 <= image.shape[0] - height <= 1 and 0 <= image.shape[1] - width <= 1:
            image = image[:height, :width]
        else:
            fit_into(image, self._canvas)
            image = self._canvas
        try:
            with writing(self._path):
                self._track.write(np.ascontiguousarray(image), self._last)
        except Exception:
            self.close()
            raise

    def close(self) -> None:
        """Finish the file; a recording of nothing leaves none."""
        file, self._file = self._file, None
        if file is None:
            return
        with writing(self._path):
            try:
                if self._track is not None:
                    self._track.finish()
            finally:
                file.close()
            if self._track is None:
                self._path.unlink(missing_ok=True)
            elif self._finish is not None:
                self._finish(self._path)

    def _start(self, image: Image, captured_ns: int) -> None:
        assert self._file is not None
        assert self._stream is not None
        height, width = (max(2, side - side % 2) for side in image.shape[:2])
        tags = ColourTags(BT709, LIMITED, BT709, BT709)
        fps = self._stream.fps if self._stream.fps > 0 else 30.0
        options = {**self._codec.options, "g": str(max(1, round(fps)))}
        codec = Codec(self._codec.name, options, odd_sizes=False)
        self._track = VideoTrack(self._file, codec, VideoFormat(width, height, fps, _BASE, tags))
        self._canvas = np.zeros((height, width, 3), np.uint8)
        self._first_ns = captured_ns
