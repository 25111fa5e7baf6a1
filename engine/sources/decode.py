"""Decode the video of a clip with PyAV: upright pictures of one size, with their real times."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Protocol, cast

import av
import cv2
import numpy as np
from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from engine.errors import InputError
from engine.types import Image
from engine.yuv import ColourTags, Converter


@dataclass(frozen=True, slots=True)
class ClipInfo:
    """What is known of a clip before it is read.

    Attributes:
        width, height: pixels, upright.
        fps: average frames per second.
        frames: number of frames if the container says it.
        duration: seconds, None if the container does not say.
        start: time of the container's first packet, seconds; already taken off all `pts`.
        time_base: the unit in which the stream counts its times, seconds.
        sample_aspect: width over height of a pixel, upright.
        tags: how the pixels were coded; after tone mapping if the clip is HDR.
        full_chroma: True if colour has the resolution of brightness (4:4:4).
        hdr: True if pictures were tone-mapped.
        has_sound: True if there is at least one sound track.
        metadata: the container's title and so on, as FFmpeg names them.
    """

    width: int
    height: int
    fps: float
    frames: int | None
    duration: float | None
    start: float
    time_base: Fraction
    sample_aspect: Fraction = Fraction(1)
    tags: ColourTags = field(default_factory=ColourTags)
    full_chroma: bool = False
    hdr: bool = False
    has_sound: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Picture:
    """One decoded picture.

    Attributes:
        image: uint8, H×W×3, BGR, upright.
        pts: seconds from the clip's start, always growing.
    """

    image: Image
    pts: float


class Decoder(Protocol):
    """Reads one clip once, from beginning to end."""

    info: ClipInfo
    unreadable: int

    def pictures(self) -> Iterator[Picture]:
        """All pictures that can be decoded, in order of time."""
        ...

    def close(self) -> None:
        """Release the file."""
        ...


# PyAV 18 crashes when a frame that carries an ICC profile is garbage-collected after its side data was
# looked at. These codecs attach profiles; none of their containers has a display matrix.
_WITH_PROFILES = {"png", "apng", "tiff", "libjxl", "libjxl_anim", "webp", "exr"}


class ClipDecoder:
    """Any clip FFmpeg reads.

    Frames of another size than the first (a camera that was turned, a stream that adapts) are fitted
    into the first one's size with black bars, as editors do. Times that jump back (joined transport
    streams) continue where they left off.

    Attributes:
        info: see `ClipInfo`.
        unreadable: frames that the file should have but that are missing or could not be decoded;
            final when `pictures` has ended.

    Raises:
        InputError: no file, not a clip, no video in it, or not one decodable frame.
    """

    def __init__(self, path: Path) -> None:
        self.unreadable = 0
        self._convert = Converter()
        self._held: tuple[int, int, int] | None = None
        self._turned = Turn()
        self._container = open_container(path)
        try:
            self._stream = video_stream(self._container, path)
            # FFmpeg's animated PNG decoder hangs on damaged files when it has several threads
            self._stream.thread_type = "SLICE" if self._stream.codec_context.name == "apng" else "AUTO"
            self._frames = self._decode()
            first = next(self._frames, None)
            if first is None:
                raise InputError(f"No frame of {path.name} can be decoded", "The file is damaged or empty")
            self._setup(first)
        except BaseException:
            self._container.close()
            raise
        self._frames = itertools.chain([first], self._frames)

    def pictures(self) -> Iterator[Picture]:
        """All pictures that can be decoded, in order of time."""
        ticks = _Clock(self.info.time_base, self.info.start, self.info.fps)
        for frame in self._frames:
            yield Picture(self._upright(frame), ticks.seconds(frame.pts))

    def close(self) -> None:
        """Release the file, and at once the codec with its threads and buffers."""
        self._frames = iter(())  # the generator knows this object, which would be freed some time later
        self._container.close()

    def _setup(self, first: VideoFrame) -> None:
        stream, turn = self._stream, self._turn(first)
        width, height = turn.size(first.width, first.height)
        tags = ColourTags.of(first)
        duration = None
        if stream.duration is not None and stream.time_base is not None:
            duration = float(stream.duration * stream.time_base)
        elif self._container.duration is not None:
            duration = self._container.duration / av.time_base
        self.info = ClipInfo(
            width=width,
            height=height,
            fps=self._rate(first),
            frames=stream.frames or None,
            duration=duration,
            start=(self._container.start_time or 0) / av.time_base,
            time_base=stream.time_base or Fraction(1, 90000),
            sample_aspect=turn.aspect(stream.sample_aspect_ratio),
            tags=tags.sdr,
            full_chroma="444" in first.format.name,
            hdr=tags.hdr is not None,
            has_sound=bool(self._container.streams.audio),
            metadata=dict(self._container.metadata),
        )

    def _turn(self, frame: VideoFrame) -> Turn:
        """How this frame becomes upright.

        PyAV's `side_data` ties a frame and its container into a reference cycle, so that the frame lives
        until Python's collector comes by and the codec's pools grow tenfold (10 MB a thread at 360×288).
        It is therefore read only where something changed.
        """
        if self._stream.codec_context.name in _WITH_PROFILES and frame.rotation == 0:
            return Turn()
        held = frame.rotation, frame.width, frame.height
        if held != self._held:
            self._held, self._turned = held, Turn.of(frame)
        return self._turned

    def _rate(self, first: VideoFrame) -> float:
        rate = self._stream.average_rate or self._stream.guessed_rate or 0
        if not 0 < rate <= 1000 and first.duration and first.time_base:  # animated PNG claims 100,000
            rate = 1 / (first.duration * first.time_base)
        return float(rate) if 0 < rate <= 1000 else 25.0

    def _decode(self) -> Iterator[VideoFrame]:
        hidden = delivered = broken = 0
        try:
            for packet in self._container.demux(self._stream):
                hidden += packet.is_discard
                try:
                    for frame in self._stream.decode(packet):
                        delivered += 1
                        yield frame
                except av.error.FFmpegError:
                    broken += 1
        except av.error.EOFError:
            pass
        except av.error.FFmpegError:
            broken += 1
        # a file with a full index (MP4, MOV) tells what a cut-off copy has lost
        indexed = "mp4" in self._container.format.name
        expected = len(self._stream.index_entries) - hidden if indexed else delivered + broken
        self.unreadable = max(broken, expected - delivered, 0)

    def _upright(self, frame: VideoFrame) -> Image:
        turn, info = self._turn(frame), self.info
        tags = ColourTags.of(frame)
        width, height = turn.size(frame.width, frame.height)
        if (width, height) == (info.width, info.height):
            return turn.apply(self._convert.to_bgr(frame, tags))
        # width of a pixel relative to one of the first frame's
        stretch = turn.aspect(self._stream.codec_context.sample_aspect_ratio) / info.sample_aspect
        scale = min(info.width / float(width * stretch), info.height / height)
        fitted = max(1, round(width * float(stretch) * scale)), max(1, round(height * scale))
        image = turn.apply(self._convert.to_bgr(frame, tags, *turn.size(*fitted)))
        x, y = (info.width - fitted[0]) // 2, (info.height - fitted[1]) // 2
        canvas = np.zeros((info.height, info.width, 3), np.uint8)
        canvas[y : y + fitted[1], x : x + fitted[0]] = image
        return canvas


@dataclass(frozen=True, slots=True)
class Turn:
    """How a stored frame becomes upright: transposed or not, then mirrored along x, y."""

    transpose: bool = False
    mirror_x: bool = False
    mirror_y: bool = False

    @classmethod
    def of(cls, frame: VideoFrame) -> Turn:
        """From the display matrix (ISO/IEC 14496-12, 8.3.2), rounded to quarter turns."""
        data = frame.side_data.get("DISPLAYMATRIX")
        if data is None:
            return cls()
        a, b, _, c, d = np.frombuffer(cast(bytes, data), "<i4")[:5].tolist()
        if abs(a) + abs(d) >= abs(b) + abs(c):
            return cls(False, a < 0, d < 0)
        return cls(True, c < 0, b < 0)

    def size(self, width: int, height: int) -> tuple[int, int]:
        """The size after turning (or, being its own inverse, before)."""
        return (height, width) if self.transpose else (width, height)

    def aspect(self, aspect: Fraction | None) -> Fraction:
        """The shape of a pixel after turning; missing and zero count as square."""
        aspect = Fraction(aspect) if aspect else Fraction(1)
        return 1 / aspect if self.transpose else aspect

    def apply(self, image: Image) -> Image:
        """Turn a picture, uint8, H×W×3."""
        if self.transpose:
            image = cv2.transpose(image)  # type: ignore[assignment]
        if self.mirror_x or self.mirror_y:
            code = -1 if self.mirror_x and self.mirror_y else int(self.mirror_x)
            image = cv2.flip(image, code)  # type: ignore[assignment]
        return image


class _Clock:
    """Times of frames in seconds from the start, strictly growing."""

    def __init__(self, time_base: Fraction, start: float, fps: float) -> None:
        self._base = time_base
        self._offset = -round(Fraction(start) / time_base)
        self._step = max(1, round(1 / (fps * time_base)))
        self._last: int | None = None

    def seconds(self, pts: int | None) -> float:
        following = 0 if self._last is None else self._last + self._step
        tick = following if pts is None else pts + self._offset
        if self._last is not None and tick <= self._last:
            self._offset += following - tick
            tick = following
        self._last = tick
        return float(tick * self._base)


def open_container(path: Path) -> InputContainer:
    """Open a clip; every reason why that fails becomes an `InputError`."""
    if not path.exists():
        raise InputError(f"There is no file {path.name}", "Check the path")
    if path.is_dir():
        raise InputError(f"{path.name} is a folder", "Give a video or picture file")
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty (0 bytes)", "Copy or download it again")
    try:
        return av.open(str(path), metadata_errors="ignore")
    except PermissionError as error:
        raise InputError(f"{path.name} may not be read", "Check its permissions") from error
    except (av.error.FFmpegError, OSError) as error:
        raise InputError(
            f"{path.name} is not a video that can be read", "It is damaged, incomplete or of another kind"
        ) from error


def video_stream(container: InputContainer, path: Path) -> VideoStream:
    """The clip's main video; cover pictures of sound files don't count."""
    pick: Callable[[VideoStream], bool] = lambda s: not s.disposition & av.stream.Disposition.attached_pic  # noqa: E731
    best = container.streams.best("video")
    candidates = [s for s in container.streams.video if pick(s)]
    if not candidates:
        raise InputError(f"{path.name} has no video in it", "Give a clip with a picture")
    stream = best if best in candidates else candidates[0]
    assert isinstance(stream, VideoStream)
    if stream.codec_context is None:
        raise InputError(f"The video codec of {path.name} is unknown", "Convert the clip to H.264 first")
    return stream
