"""Carrying the sound of one clip over into another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.packet import Packet
from av.stream import Stream

from engine.sources.decode import open_container

_TAKES: dict[str, frozenset[str] | None] = {
    # what players expect in these containers; FFmpeg itself would also write less common ones
    "mp4": frozenset({"aac", "mp3", "ac3", "eac3", "alac", "opus", "flac"}),
    "mov": frozenset({"aac", "mp3", "ac3", "eac3", "alac", "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be",
                      "pcm_f32le", "pcm_alaw", "pcm_mulaw"}),
    "webm": frozenset({"opus", "vorbis"}),
    "matroska": None,
    "mpegts": frozenset({"aac", "mp2", "mp3", "ac3", "eac3", "opus"}),
}  # fmt: skip


# uncompressed sound often does not say which speakers its channels are for
_USUAL_LAYOUTS = {1: "mono", 2: "stereo", 3: "2.1", 4: "quad", 5: "5.0", 6: "5.1", 7: "6.1", 8: "7.1"}


@dataclass
class _Track:
    source: AudioStream
    target: Stream
    resampler: AudioResampler | None
    offset: int
    last: int | None = None


class Soundtrack:
    """All sound tracks of a clip, written into an open container in step with its video.

    A track is copied packet by packet where the container takes its codec, and encoded again (AAC;
    Opus in WebM) where it does not.

    Args:
        path: the clip the sound comes from.
        container: where it goes; nothing was muxed into it yet.
        start: the clip's first time stamp, seconds; taken off all times.

    Attributes:
        tracks: for each track, "copied (aac)" or "encoded (pcm_s16le to aac)".
        complete: False once sound was found to be damaged or cut off.
    """

    def __init__(self, path: Path, container: OutputContainer, start: float) -> None:
        self._input = open_container(path)
        self._output = container
        self.complete = True
        self.tracks: list[str] = []
        self._by_index: dict[int, _Track] = {}
        for stream in self._input.streams.audio:
            self._by_index[stream.index] = self._add(stream, start)
        self._packets = self._demux()
        self._ahead: Packet[Stream] | None = None

    def advance(self, seconds: float) -> None:
        """Write all sound that starts before this time."""
        while True:
            packet = self._ahead or next(self._packets, None)
            self._ahead = None
            if packet is None:
                return
            track = self._by_index[packet.stream_index]
            when = packet.dts if packet.dts is not None else packet.pts
            if when is not None and track.source.time_base is not None:
                time = float((when + track.offset) * track.source.time_base)
                if time > seconds:
                    self._ahead = packet
                    return
            self._write(track, packet)

    def finish(self) -> None:
        """Write the rest."""
        self.advance(float("inf"))
        for track in self._by_index.values():
            if track.resampler is not None:
                self._encode(track, None)

    def close(self) -> None:
        """Release the clip."""
        self._input.close()

    def _add(self, stream: AudioStream, start: float) -> _Track:
        container, codec = self._output.format.name, stream.codec_context.name
        takes = _TAKES.get(container, frozenset())
        offset = -round(Fraction(start) / (stream.time_base or Fraction(1, 90000)))
        target: Stream
        resampler = None
        if takes is None or codec.removesuffix("float") in takes:
            target = self._output.add_stream_from_template(stream)
            self.tracks.append(f"copied ({codec})")
        else:
            opus = container == "webm"
            encoder, sample_format, samples = ("libopus", "flt", 960) if opus else ("aac", "fltp", 1024)
            rate = 48000 if opus else stream.codec_context.sample_rate
            audio = self._output.add_stream(encoder, rate=rate, layout=_layout(stream))
            assert isinstance(audio, AudioStream)
            audio.codec_context.bit_rate = 96_000 * max(1, stream.codec_context.channels)
            target = audio
            resampler = AudioResampler(sample_format, audio.codec_context.layout, rate, samples)
            self.tracks.append(f"encoded ({codec} to {encoder.removeprefix('lib')})")
        target.metadata.update({k: v for k, v in stream.metadata.items() if k in ("language", "title")})
        return _Track(stream, target, resampler, offset)

    def _demux(self) -> Iterator[Packet[Stream]]:
        if not self._by_index:
            return
        packets = self._input.demux([t.source for t in self._by_index.values()])
        while True:
            try:
                packet = next(packets)
            except (StopIteration, av.error.EOFError):
                return
            except av.error.FFmpegError:
                self.complete = False
                return
            if packet.size:
                yield packet

    def _write(self, track: _Track, packet: Packet[Stream]) -> None:
        if packet.is_corrupt:
            self.complete = False
            return
        if track.resampler is not None:
            try:
                frames = track.source.codec_context.decode(packet)
            except av.error.FFmpegError:
                self.complete = False
                return
            for frame in frames:
                self._encode(track, frame)
            return
        if packet.dts is not None:
            # joined transport streams jump back in time: go on where the sound left off
            if track.last is not None and packet.dts + track.offset <= track.last:
                track.offset += track.last + max(1, packet.duration or 1) - packet.dts - track.offset
            packet.dts += track.offset
            track.last = packet.dts
        if packet.pts is not None:
            packet.pts += track.offset
        packet.stream = track.target
        self._output.mux(packet)

    def _encode(self, track: _Track, frame: AudioFrame | None) -> None:
        assert track.resampler is not None and isinstance(track.target, AudioStream)
        if frame is not None and frame.pts is not None:
            frame.pts += track.offset
        for ready in track.resampler.resample(frame):
            self._output.mux(track.target.encode(ready))
        if frame is None:
            self._output.mux(track.target.encode(None))


def _layout(stream: AudioStream) -> str:
    """The layout to encode, one that AAC and Opus know; more channels than eight are mixed down."""
    return _USUAL_LAYOUTS.get(stream.codec_context.channels, "stereo")
