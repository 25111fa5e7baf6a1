"""Small clips and pictures made for tests."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

PATCHES = ((0, 0, 255), (0, 255, 0), (255, 0, 0), (128, 128, 128), (255, 255, 255), (0, 0, 0), (90, 120, 200))


def colour_bars(width: int = 448, height: int = 64) -> np.ndarray:
    """Vertical bars in the colours of PATCHES, BGR."""
    index = np.arange(width) * len(PATCHES) // width
    return np.ascontiguousarray(np.broadcast_to(np.array(PATCHES, np.uint8)[index], (height, width, 3)))


def moving(count: int, width: int = 96, height: int = 64) -> list[np.ndarray]:
    """Frames that differ from each other: a bright square on a gradient."""
    frames = []
    for i in range(count):
        image = np.empty((height, width, 3), np.uint8)
        image[..., 0] = np.linspace(30, 200, width)
        image[..., 1] = np.linspace(40, 180, height)[:, None]
        image[..., 2] = 40 + 10 * (i % 16)
        x = i * 3 % (width - 16)
        image[8:24, x : x + 16] = 230
        frames.append(image)
    return frames


def write_clip(
    path: Path,
    frames: Sequence[np.ndarray],
    *,
    codec: str = "libx264",
    pixels: str = "yuv420p",
    fps: int = 25,
    pts: Sequence[int] | None = None,
    time_base: Fraction | None = None,
    matrix: int = 2,
    full_range: bool = False,
    said: bool = True,
    display_matrix: Sequence[int] | None = None,
    aspect: Fraction | None = None,
    sounds: Sequence[str] = (),
    title: str = "",
    options: dict[str, str] | None = None,
) -> Path:
    """Encode frames; `said` False leaves the colour tags out."""
    base = time_base or Fraction(1, fps)
    with av.open(str(path), "w") as file:
        stream = file.add_stream(codec, rate=fps, options={"crf": "4"} if options is None else options)
        height, width = frames[0].shape[:2]
        stream.width, stream.height, stream.pix_fmt = width, height, pixels
        stream.codec_context.time_base = stream.time_base = base
        if said:
            stream.codec_context.colorspace = matrix
            stream.codec_context.color_range = 2 if full_range else 1
        if display_matrix is not None:
            stream.set_display_matrix(list(display_matrix))
        if aspect is not None:
            stream.codec_context.sample_aspect_ratio = aspect
        if title:
            file.metadata["title"] = title
        tracks = [file.add_stream(name, rate=48000, layout="mono") for name in sounds]
        for i, image in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(image, "bgr24").reformat(
                format=pixels,
                dst_colorspace=6 if matrix == 2 else matrix,
                dst_color_range=2 if full_range else 1,
            )
            frame.pts, frame.time_base = (pts[i] if pts else i), base
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
        for k, track in enumerate(tracks):
            _tone(file, track, len(frames) / fps, 300 + 200 * k)
    return path


def _tone(file: av.container.OutputContainer, track: av.AudioStream, seconds: float, hertz: float) -> None:
    kind = track.codec_context.format.name
    resampler = av.AudioResampler(kind, "mono", 48000, track.codec_context.frame_size or 1024)
    samples = np.sin(np.arange(int(seconds * 48000)) * 2 * np.pi * hertz / 48000).astype(np.float32)
    frame = av.AudioFrame.from_ndarray(samples[None] * 0.3, "flt", "mono")
    frame.sample_rate, frame.pts, frame.time_base = 48000, 0, Fraction(1, 48000)
    for ready in [*resampler.resample(frame), *resampler.resample(None)]:
        file.mux(track.encode(ready))
    file.mux(track.encode(None))
