"""Which H.264 encoders really work here, and how each is asked for a live recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

# FFmpeg's names, hardware first: NVIDIA, Apple, Intel, AMD, Windows; then x264 and Cisco's. VA-API is
# missing: PyAV's wheels are built without it. Every one is asked for about constant quality, and to keep
# no pictures back (no B-frames, no look-ahead): what an encoder holds is lost when the process dies.
# x264's crf 23 without look-ahead looks like 20 with it (46 and 50 dB on clips of faces).
_CANDIDATES: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("h264_nvenc", "NVIDIA", "yuv420p",
     {"preset": "p4", "tune": "ll", "rc": "vbr", "cq": "23", "b": "0", "bf": "0", "delay": "0"}),
    ("h264_videotoolbox", "Apple", "nv12",
     {"q:v": "60", "realtime": "1", "bf": "0", "allow_sw": "0"}),
    ("h264_qsv", "Intel", "nv12",
     {"global_quality": "23", "bf": "0", "async_depth": "1", "look_ahead": "0"}),
    ("h264_amf", "AMD", "yuv420p",
     {"usage": "lowlatency", "rc": "cqp", "qp_i": "22", "qp_p": "22", "bf": "0"}),
    ("h264_mf", "Windows", "nv12",
     {"rate_control": "quality", "quality": "70", "hw_encoding": "1"}),
    ("libx264", "", "yuv420p",
     {"preset": "veryfast", "crf": "23", "tune": "zerolatency"}),
    ("libopenh264", "", "yuv420p",
     {"b": "4000000"}),
)  # fmt: skip

_TRIAL = 6
"""Pictures of a trial: more than any encoder here may hold."""
_GREY, _DEVIATION = 90, 12
"""Luminance of the trial's pictures, and how far the decoded ones may be off."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """An H.264 encoder of the FFmpeg that PyAV carries.

    Attributes:
        name: FFmpeg's.
        maker: of the hardware; empty for an encoder that runs on the CPU.
        pixel_format: FFmpeg's name of what it takes.
        options: for a live recording.
        trouble: why it can't be used here; empty if it can.
    """

    name: str
    maker: str
    pixel_format: str
    options: Mapping[str, str] = field(default_factory=dict)
    trouble: str = ""


def h264_encoders(width: int = 640, height: int = 360, wanted: str = "") -> Iterator[Encoder]:
    """The encoders that PyAV was built with, best first, each tried as it is reached.

    Args:
        width, height: pixels of the pictures it is tried on, both even.
        wanted: only the one of this name; all if empty.
    """
    import av

    for name, maker, pixel_format, options in _CANDIDATES:
        if name in av.codecs_available and wanted in ("", name):
            trouble = _trouble(name, pixel_format, options, width, height)
            yield Encoder(name, maker, pixel_format, options, trouble)


def _trouble(name: str, pixel_format: str, options: dict[str, str], width: int, height: int) -> str:
    """Encode a few grey pictures and decode them again."""
    import av
    from av.video.codeccontext import VideoCodecContext

    try:
        encoder, decoder = av.CodecContext.create(name, "w"), av.CodecContext.create("h264", "r")
        assert isinstance(encoder, VideoCodecContext) and isinstance(decoder, VideoCodecContext)
        encoder.width, encoder.height, encoder.pix_fmt = width, height, pixel_format
        encoder.time_base, encoder.framerate = Fraction(1, 30), Fraction(30)
        encoder.options = dict(options)
        grey = np.full((height * 3 // 2, width), 128, np.uint8)
        grey[:height] = _GREY
        seen = []
        for number in range(_TRIAL):
            frame = av.VideoFrame.from_ndarray(grey, "yuv420p").reformat(format=pixel_format)
            frame.pts = number
            seen += [picture for packet in encoder.encode(frame) for picture in decoder.decode(packet)]
        seen += [picture for packet in encoder.encode(None) for picture in decoder.decode(packet)]
        seen += decoder.decode(None)
    except (av.error.FFmpegError, ValueError, OSError) as error:
        return getattr(error, "strerror", None) or str(error)
    if len(seen) < _TRIAL:
        return f"it gives {len(seen)} of {_TRIAL} pictures"
    shades = [float(np.mean(picture.to_ndarray(format="gray"))) for picture in seen]
    # "gray" is full range where the encoder says limited: 90 may come back as 86
    off = max(abs(shade - _GREY) for shade in shades)
    return "" if off <= _DEVIATION else f"its pictures are wrong by {off:.0f} levels"
