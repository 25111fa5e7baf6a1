"""A clip or picture in, the same with other faces out."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.container import OutputContainer

from engine.atomic import replacing
from engine.errors import CancelledError, InputError, UsageError
from engine.overlap import Behind, ahead
from engine.sinks.encoder import GIF, H264, VP9, WEBP, Codec, VideoFormat, VideoTrack
from engine.sinks.picture import PICTURE_SUFFIXES, write_picture
from engine.sinks.soundtrack import Soundtrack
from engine.sources.decode import ClipInfo
from engine.sources.file import FileSource
from engine.sources.still import StillSource, is_still
from engine.types import Frame, Output

Process = Callable[[Frame], Output]
Progress = Callable[[int, int | None], None]
"""Called with the number of frames done, and their total if it is known."""
_Finish = Callable[[Path], None] | None

# ending → FFmpeg's container, codec, container options
_CLIPS: dict[str, tuple[str, Codec, dict[str, str]]] = {
    ".mp4": ("mp4", H264, {"movflags": "faststart"}),
    ".m4v": ("mp4", H264, {"movflags": "faststart"}),
    ".mov": ("mov", H264, {"movflags": "faststart"}),
    ".mkv": ("matroska", H264, {}),
    ".webm": ("webm", VP9, {}),
    ".ts": ("mpegts", H264, {}),
    ".gif": ("gif", GIF, {}),
    ".webp": ("webp", WEBP, {"loop": "0"}),
}
CLIP_SUFFIXES = tuple(_CLIPS)
"""Endings of clips that `export` can write."""

_QUEUE_BYTES = 64_000_000
# the muxer writes its own; creation times and titles are kept
_NOT_COPIED = {"major_brand", "minor_version", "compatible_brands", "encoder"}


@dataclass(frozen=True, slots=True)
class StageTime:
    """Wall time a stage took per frame, milliseconds."""

    mean: float
    p95: float


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What `export` did.

    Attributes:
        frames: frames written, as many as the source has.
        frames_with_faces: those in which a face was found.
        faces: different faces found in all.
        swapped_frames: frames in which at least one face was swapped.
        stage_ms: for each stage of the pipeline.
        audio: for each sound track what was done with it; empty for silent clips.
        warnings: what the user should know, each a sentence; empty if all went well.
    """

    frames: int
    frames_with_faces: int
    faces: int
    swapped_frames: int
    stage_ms: Mapping[str, StageTime]
    audio: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def export(
    source: str | Path,
    output: str | Path,
    process: Process,
    *,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
    finish: Callable[[Path], None] | None = None,
) -> ExportReport:
    """Run every frame of a clip, or one picture, through `process` and write the result.

    The result has the same frames at the same times, the same upright size, pixel shape and colour
    marks, and all sound (copied, or encoded again where the container does not take it). Rotation
    that was stored as a mark is applied to the pixels, so that every player shows the same. Decoding,
    processing (on the calling thread, in order) and encoding overlap. `output` appears only when all
    of it was written; until then nothing is there.

    Args:
        source: a video, an animation or a still.
        output: where to write; the ending chooses the format. A still goes to a still.
        process: makes the output of one frame, of the frame's size; if it has a method `stream` that takes
            frames and yields their outputs in order, that is called for a clip.
        progress: called after each frame, on the calling thread.
        cancel: asked before each frame; True stops.
        finish: called with the finished file before it is moved into place (the manifest).

    Raises:
        InputError: the source can't be used.
        UsageError: the output's name, folder or kind does not fit.
        DeviceError: the output can't be written.
        CancelledError: `cancel` said so.
        KawariError: whatever `process` raises.
    """
    source, output = Path(source), Path(output)
    if not source.exists():
        raise InputError(f"There is no file {source.name}", "Check the path")
    if output.exists() and source.samefile(output):
        raise UsageError("Input and output are the same file", "Give the output another name")
    tally = _Tally(process, cancel)
    if is_still(source):
        return _export_still(source, output, tally, progress, finish)
    return _export_clip(source, output, tally, progress, finish)


def _export_still(
    source: Path, output: Path, tally: _Tally, progress: Progress | None, finish: _Finish
) -> ExportReport:
    still = StillSource(source)
    still.open()
    if output.suffix.lower() not in PICTURE_SUFFIXES:
        raise UsageError(
            f"{source.name} is a picture, {output.name} is not",
            f"End the output's name in one of {', '.join(PICTURE_SUFFIXES)}",
        )
    frame = still.read()
    assert frame is not None
    write_picture(output, tally(frame).image, finish)
    if progress is not None:
        progress(1, 1)
    return tally.report()


def _export_clip(
    source: Path, output: Path, tally: _Tally, progress: Progress | None, finish: _Finish
) -> ExportReport:
    suffix = output.suffix.lower()
    reader = FileSource(source)
    try:
        reader.open()  # first, so that a broken picture is not taken for a clip with an unfit output
        if suffix not in _CLIPS:
            called = suffix or "without an ending"
            raise UsageError(
                f"{source.name} is a clip, and Kawari can't write clips called {called}",
                f"End the output's name in one of {', '.join(CLIP_SUFFIXES)}",
            )
        clip = reader.clip
        total = clip.frames or (round(clip.duration * clip.fps) if clip.duration else None)
        room = max(2, min(16, _QUEUE_BYTES // (clip.width * clip.height * 3)))
        with replacing(output) as partial:
            writer = _ClipWriter(source, partial, suffix, clip)
            try:
                with ahead(iter(reader.read, None), room) as frames, Behind(writer.write, room) as behind:
                    for made in tally.stream(frames):
                        behind.put(made)
                        if progress is not None:
                            progress(tally.frames, max(total, tally.frames) if total else None)
                writer.finish()
            finally:
                writer.close()
            if finish is not None:
                finish(partial)
    finally:
        reader.close()
    return tally.report(writer.audio, _warnings(reader, writer, tally.frames))


def _warnings(reader: FileSource, writer: _ClipWriter, frames: int) -> tuple[str, ...]:
    found = []
    if reader.unreadable:
        found.append(
            f"The input is damaged: {reader.unreadable} of {frames + reader.unreadable} frames could not be "
            "read and are missing"
        )
    if not writer.sound_complete:
        found.append("The input's sound is damaged and ends early or has gaps")
    if reader.clip.hdr:
        found.append("The input is HDR; the output is ordinary 8-bit video (BT.709)")
    if reader.clip.sample_aspect != 1 and writer.square_pixels:
        found.append("The output's format has square pixels only; players will show it slightly stretched")
    if writer.dropped_sound:
        found.append("The output's format has no sound; the input's was left out")
    return tuple(found)


class _ClipWriter:
    """The output file: video, sound, title."""

    def __init__(self, source: Path, path: Path, suffix: str, clip: ClipInfo) -> None:
        container, codec, options = _CLIPS[suffix]
        self._base = clip.time_base if clip.time_base >= Fraction(1, 1_000_000) else Fraction(1, 90_000)
        self._last = -1
        self._closed = False
        self._file: OutputContainer = av.open(str(path), "w", format=container, container_options=options)
        silent = codec in (GIF, WEBP)
        self._track = VideoTrack(
            self._file,
            codec,
            VideoFormat(
                clip.width,
                clip.height,
                clip.fps,
                self._base,
                clip.tags,
                clip.sample_aspect,
                clip.full_chroma and not silent,
            ),
        )
        self._sound = None if silent else Soundtrack(source, self._file, clip.start)
        # PyAV can't set the display size that WebM needs for this
        self.square_pixels = silent or codec is VP9
        self.dropped_sound = silent and clip.has_sound
        self._file.metadata.update({k: v for k, v in clip.metadata.items() if k not in _NOT_COPIED})

    @property
    def audio(self) -> tuple[str, ...]:
        """What was done with each sound track."""
        return tuple(self._sound.tracks) if self._sound else ()

    @property
    def sound_complete(self) -> bool:
        """False if the input's sound was damaged."""
        return self._sound is None or self._sound.complete

    def write(self, output: Output) -> None:
        """Add one picture at its frame's time, and the sound up to it."""
        assert output.frame.pts is not None
        pts = max(self._last + 1, round(Fraction(output.frame.pts) / self._base))
        self._last = pts
        self._track.write(output.image, pts)
        if self._sound is not None:
            self._sound.advance(output.frame.pts)

    def finish(self) -> None:
        """Write what is left, and the index."""
        self._track.finish()
        if self._sound is not None:
            self._sound.finish()
        self._closed = True
        self._file.close()

    def close(self) -> None:
        """Release everything; without `finish` the file is of no use."""
        if self._sound is not None:
            self._sound.close()
        if not self._closed:
            self._closed = True
            # thrown away anyway, and the first error tells more
            with contextlib.suppress(av.error.FFmpegError, OSError):
                self._file.close()


class _Tally:
    """Runs `process` and counts what it did."""

    def __init__(self, process: Process, cancel: Callable[[], bool] | None) -> None:
        self._process = process
        self._cancel = cancel
        self.frames = self._with_faces = self._swapped = 0
        self._faces: set[int] = set()
        self._stages: defaultdict[str, list[float]] = defaultdict(list)

    def __call__(self, frame: Frame) -> Output:
        self._check_cancel()
        return self._count(self._process(frame))

    def stream(self, frames: Iterable[Frame]) -> Iterator[Output]:
        many = getattr(self._process, "stream", None)
        asked = self._asked(frames)
        yield from map(self._count, many(asked) if many is not None else map(self._process, asked))

    def _asked(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        for frame in frames:
            self._check_cancel()
            yield frame

    def _check_cancel(self) -> None:
        if self._cancel is not None and self._cancel():
            raise CancelledError("Stopped", "Nothing was written")

    def _count(self, output: Output) -> Output:
        self.frames += 1
        self._with_faces += bool(output.faces)
        self._swapped += bool(output.swapped)
        self._faces.update(face.id for face in output.faces)
        for stage, ms in output.stage_ms.items():
            self._stages[stage].append(ms)
        return output

    def report(self, audio: tuple[str, ...] = (), warnings: tuple[str, ...] = ()) -> ExportReport:
        times = {
            stage: StageTime(float(np.mean(ms)), float(np.percentile(ms, 95)))
            for stage, ms in self._stages.items()
        }
        return ExportReport(
            self.frames, self._with_faces, len(self._faces), self._swapped, times, audio, warnings
        )
