"""Recording the finished pictures of a live stream, and the voice to them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from engine.errors import DeviceError, KawariError, UsageError
from engine.sinks.base import StreamInfo
from engine.sinks.encoder import Codec
from engine.sinks.fit import fit_into
from engine.sinks.recording import Recording, check_name
from engine.sinks.split import Split, part_name
from engine.sound.microphone import Listening
from engine.sound.tape import Tape
from engine.types import Image, Output

_SILENT_NS = 3e9
"""So long a microphone may give nothing before it is said."""


class Recorder:
    """Writes H.264 with each picture at the time its frame was captured, and sound at the time it was taken.

    The stream's size, made even by leaving out a row or column, is the recording's; pictures of another
    size are fitted into it. A crash loses less than the last second. What only concerns the sound never
    stops the pictures.

    Args:
        path: `.mp4`, `.mov` or `.mkv`; replaced if it exists, and so are `NAME_002` … where it is split.
        codec: of the pictures; if None, `encoder` is asked for what it does best.
        encoder: FFmpeg's name of an H.264 encoder; the best that works here if empty.
        microphone: whose sound goes into the file; None for none.
        shift_ms: how much later sound is put than it was taken, for a camera that is late itself.
        split: when to go on in a new file.
        finish: called with each finished file (the manifest).
        warn: told a sentence when something does not work as asked: the microphone, the signature.

    Raises:
        UsageError: the name ends otherwise.
    """

    name = "recorder"

    def __init__(
        self,
        path: str | Path,
        *,
        codec: Codec | None = None,
        encoder: str = "",
        microphone: Listening | None = None,
        shift_ms: float = 0.0,
        split: Split | None = None,
        finish: Callable[[Path], None] | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._path = Path(path)
        check_name(self._path)
        self._codec, self._encoder = codec, encoder
        self._microphone, self._shift_ns = microphone, round(shift_ms * 1e6)
        self._split, self._finish, self._warn = split or Split(), finish, warn
        self._paused = self._split_asked = False
        self._part: Recording | None = None
        self._done = threading.Event()
        self._done.set()

    def pause(self, on: bool = True) -> None:
        """Leave out what comes from now on, sound and pictures, or go on; from any thread."""
        self._paused = on

    @property
    def paused(self) -> bool:
        """Whether pictures are left out now."""
        return self._paused

    def split(self) -> None:
        """Go on in a new file from the next picture on; from any thread."""
        self._split_asked = True

    def wait(self, seconds: float) -> bool:
        """Wait until `close` has finished all files, on whatever thread; at once if none is open."""
        return self._done.wait(seconds)

    def open(self, stream: StreamInfo) -> None:
        """Find an encoder, create the file, start listening. Raises `UsageError` or `DeviceError`."""
        if not self._path.parent.is_dir():
            raise UsageError(f"There is no folder {self._path.parent}", "Create it, or choose another one")
        width, height = (max(2, side - side % 2) for side in (stream.width, stream.height))
        self._fps = stream.fps if stream.fps > 0 else 30.0
        self._live_codec = _keyed(self._codec or _best_codec(width, height, self._encoder), self._fps)
        self._canvas: Image = np.zeros((height, width, 3), np.uint8)
        self._tape = self._listen()
        self._parts, self._silence_told = 0, False
        # not a daemon's: a program that ends waits until its files are finished
        self._finisher = ThreadPoolExecutor(1, "kawari-recorder")
        self._finished: list[Future[None]] = []
        try:
            self._part = self._next_part()
        except BaseException:
            self._stop()
            raise
        self._done.clear()

    def write(self, output: Output) -> None:
        """Add a picture.

        Raises:
            DeviceError: the disk is full or gone; what was recorded so far is kept.
        """
        part = self._part
        if part is None:
            return
        if self._paused:
            part.pause()
            return
        captured_ns = output.frame.captured_ns
        if not part.empty and (self._split_asked or self._split.due(part, captured_ns)):
            self._part = self._next_part()
            self._finish_later(part)
            part = self._part
        self._split_asked = False
        part.write(self._fitted(output.image), captured_ns)
        if part.silent_ns > _SILENT_NS and not self._silence_told:
            self._silence_told = True
            self._warn("The microphone gives no sound; the recording goes on without it.")

    def close(self) -> None:
        """Finish the file; a recording of nothing leaves none.

        Raises:
            KawariError: a file could not be finished or signed; what is on the disk is playable.
        """
        part, self._part = self._part, None
        if part is None:
            return
        self._finish_later(part)
        self._stop()
        for one in self._finished:
            one.result()

    def _listen(self) -> Tape | None:
        if self._microphone is None:
            return None
        try:
            return self._microphone.open()
        except DeviceError as error:
            self._warn(f"{error} The recording has no sound.")
            return None

    def _next_part(self) -> Recording:
        self._parts += 1
        path = part_name(self._path, self._parts)
        height, width = self._canvas.shape[:2]
        return Recording(path, self._live_codec, (width, height), self._fps, self._tape, self._shift_ns)

    def _finish_later(self, part: Recording) -> None:
        """Signing reads and writes the whole file; the stream does not wait for it."""
        self._finished.append(self._finisher.submit(self._finish_part, part))

    def _finish_part(self, part: Recording) -> None:
        try:
            part.close()
            if part.empty:
                part.path.unlink(missing_ok=True)
            elif self._finish is not None:
                self._finish(part.path)
        except KawariError as error:
            self._warn(f"{part.path.name}: {error}")
            raise

    def _stop(self) -> None:
        self._finisher.shutdown(wait=True)
        if self._tape is not None and self._microphone is not None:
            self._microphone.close()
        self._done.set()

    def _fitted(self, image: Image) -> Image:
        height, width = self._canvas.shape[:2]
        if 0 <= image.shape[0] - height <= 1 and 0 <= image.shape[1] - width <= 1:
            return image[:height, :width]
        fit_into(image, self._canvas)
        return self._canvas


def _best_codec(width: int, height: int, wanted: str) -> Codec:
    from engine.capabilities.encoders import h264_encoders

    trouble = "it is not part of this PyAV"
    for encoder in h264_encoders(width, height, wanted):
        if not encoder.trouble:
            return Codec(encoder.name, dict(encoder.options), odd_sizes=False, pixels=encoder.pixel_format)
        trouble = encoder.trouble
    if wanted:
        raise DeviceError(
            f"The encoder {wanted} can't be used: {trouble}", "Let Kawari choose, or take libx264"
        )
    raise DeviceError("No H.264 encoder works here", "Run: pip install --force-reinstall av")


def _keyed(codec: Codec, fps: float) -> Codec:
    """A key picture each second, to which players jump and from which a damaged file goes on."""
    return replace(codec, options={**codec.options, "g": str(max(1, round(fps)))})
