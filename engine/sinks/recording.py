"""One recorded file: pictures, and the sound that belongs to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from engine.atomic import writing
from engine.errors import UsageError
from engine.sinks.disk import Disk, drop_torn_fragment
from engine.sinks.encoder import Codec, VideoFormat, VideoTrack
from engine.sound.tape import Playhead, Tape
from engine.sound.track import BLOCK, RATE, VoiceTrack
from engine.types import Image
from engine.yuv import BT709, LIMITED, ColourTags

# "hybrid": fragments while recording, so that a killed process leaves a playable file, and an ordinary
# index, which every editor reads, once it was closed (FFmpeg 8). A quarter of a second in each fragment
# or cluster: what a crash loses besides what the encoder holds.
_FRAGMENTS = {"movflags": "hybrid_fragmented", "frag_duration": "250000"}
_CONTAINERS: dict[str, tuple[str, dict[str, str]]] = {
    ".mp4": ("mp4", _FRAGMENTS),
    ".mov": ("mov", _FRAGMENTS),
    ".mkv": ("matroska", {"cluster_time_limit": "250"}),
}
RECORDING_SUFFIXES = tuple(_CONTAINERS)
"""Endings of files that can be recorded."""

_BASE = Fraction(1, 90_000)
_NS_PER_TICK = 1_000_000_000 / 90_000
_BLOCK_NS = BLOCK * 1e9 / RATE
_PATIENCE_NS = 400e6
"""Sound that is not here when pictures this much later are becomes silence: the muxer keeps pictures
back until there is sound beside them, and a crash would lose them."""


def check_name(path: Path) -> None:
    """Raises `UsageError` if no file of this name can be recorded."""
    if path.suffix.lower() not in _CONTAINERS:
        raise UsageError(f"Kawari can't record to {path.name}", f"Use one of {', '.join(RECORDING_SUFFIXES)}")


class Recording:
    """A file that is playable at any moment, whatever happens to the process.

    Each picture stands at the time its frame was captured, sound at the time it was taken: both come
    from `time.monotonic_ns()`, so that the pictures' delay on the way here does not matter.

    Args:
        path: replaced if it exists; `check_name` likes it.
        codec: of the pictures.
        size: width and height, pixels, both even.
        fps: nominal.
        tape: the microphone's; None for no sound.
        shift_ns: how much later sound is put than it was taken: the camera's own delay.

    Raises:
        DeviceError: it can't be written.
    """

    def __init__(
        self,
        path: Path,
        codec: Codec,
        size: tuple[int, int],
        fps: float,
        tape: Tape | None = None,
        shift_ns: int = 0,
    ) -> None:
        self.path = path
        self._tape, self._shift_ns = tape, shift_ns
        self._playhead = Playhead(tape, RATE) if tape is not None else None
        self._frame_ns = 1e9 / fps
        self._origin_ns: float | None = None
        self._last = -1
        self._gap = False
        self.silent_ns = 0.0
        """Sound that was missing since it last was there, ns."""
        container, options = _CONTAINERS[path.suffix.lower()]
        options = {**options, "flush_packets": "1"}
        video = VideoFormat(*size, fps, _BASE, ColourTags(BT709, LIMITED, BT709, BT709))
        with writing(path):
            self._disk = Disk(path)
            self._file = av.open(self._disk, "w", format=container, container_options=options)
            self._video = VideoTrack(self._file, codec, video)
            self._voice = VoiceTrack(self._file) if tape is not None else None

    @property
    def empty(self) -> bool:
        """No picture is in it yet."""
        return self._last < 0

    def seconds_at(self, captured_ns: int) -> float:
        """Where a picture captured then would stand, seconds from the start of the file."""
        if self._origin_ns is None:
            return 0.0
        return (self._end_ns if self._gap else captured_ns - self._origin_ns) / 1e9

    @property
    def size(self) -> int:
        """Bytes in the file now."""
        return self._disk.size

    def write(self, image: Image, captured_ns: int) -> None:
        """Add a picture, and the sound before it.

        Args:
            image: uint8, H×W×3, BGR, of the recording's size.
            captured_ns: its frame's; one that is not newer than the last (a picture shown again) gets
                the next possible time.

        Raises:
            DeviceError: the disk is full or gone; close it then.
        """
        if self._origin_ns is None:
            self._origin_ns = captured_ns
        elif self._gap:
            self._origin_ns = captured_ns - self._end_ns
        self._gap = False
        self._last = max(self._last + 1, round((captured_ns - self._origin_ns) / _NS_PER_TICK))
        with self._muxing():
            self._video.write(np.ascontiguousarray(image), self._last)
            self._write_sound(self._last * _NS_PER_TICK, _PATIENCE_NS)

    def pause(self) -> None:
        """The next picture follows right after the last one, whenever it comes."""
        if not self.empty and not self._gap:
            with self._muxing():
                self._write_sound(self._end_ns, 0)
            self._gap = True

    def close(self) -> None:
        """Finish the file.

        Raises:
            DeviceError: the disk is full or gone; what is on it is playable.
        """
        try:
            with self._muxing():
                if not self.empty and self._disk.failed is None:
                    if not self._gap:
                        self._write_sound(self._end_ns, 0)
                    self._video.finish()
                    if self._voice is not None:
                        self._voice.finish()
                    self._file.close()
        finally:
            self._disk.close()
            self._file.close()
            if self._disk.failed is not None and self.path.suffix.lower() != ".mkv":
                drop_torn_fragment(self.path)

    @contextmanager
    def _muxing(self) -> Iterator[None]:
        """Whatever FFmpeg makes of it, what the disk said is the reason."""
        with writing(self.path):
            try:
                yield
            except Exception:
                if self._disk.failed is not None:
                    raise self._disk.failed from None
                raise

    @property
    def _end_ns(self) -> float:
        """Where the last picture ends, ns from the start of the file."""
        return self._last * _NS_PER_TICK + self._frame_ns if not self.empty else 0.0

    def _write_sound(self, until_ns: float, patience_ns: float) -> None:
        """Write sound until this time of the file, waiting for what is late at most so long."""
        if self._voice is None or self._playhead is None or self._tape is None or self._origin_ns is None:
            return
        while (place_ns := self._voice.end_ns) < until_ns:
            taken_ns = self._origin_ns + place_ns - self._shift_ns
            here = self._tape.reaches(taken_ns + _BLOCK_NS)
            if not here and until_ns - place_ns < patience_ns:
                return
            self.silent_ns = 0.0 if here else self.silent_ns + _BLOCK_NS
            self._voice.write(self._playhead.read(round(taken_ns), BLOCK))
