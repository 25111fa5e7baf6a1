"""One encoded voice in a file that PyAV writes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import OutputContainer

from engine.sound.tape import Samples

RATE = 48_000
"""Samples per second of every recording: what video editors and players expect."""
BLOCK = 1024
"""Samples of an AAC frame."""
_BIT_RATE = 96_000  # FFmpeg's AAC is transparent for one voice well below this


class VoiceTrack:
    """Encodes one channel as AAC into a stream of its own in an open container."""

    def __init__(self, container: OutputContainer) -> None:
        stream = container.add_stream("aac", rate=RATE, layout="mono")
        assert isinstance(stream, AudioStream)
        stream.codec_context.bit_rate = _BIT_RATE
        self._container, self._stream = container, stream
        self._next = 0

    @property
    def end_ns(self) -> float:
        """Where the next block begins, ns from the start of the file."""
        return self._next * 1e9 / RATE

    def write(self, block: Samples) -> None:
        """Add a block of `BLOCK` samples."""
        frame = AudioFrame.from_ndarray(np.clip(block, -1, 1)[None], "fltp", "mono")
        frame.sample_rate, frame.time_base, frame.pts = RATE, Fraction(1, RATE), self._next
        self._next += len(block)
        self._container.mux(self._stream.encode(frame))

    def finish(self) -> None:
        """Write what the encoder still holds."""
        self._container.mux(self._stream.encode(None))
