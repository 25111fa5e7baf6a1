"""Which H.264 encoders really open here."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

# FFmpeg's names, hardware first: NVIDIA, Apple, Intel, AMD, Windows; then x264 and Cisco's.
_CANDIDATES = (
    ("h264_nvenc", "NVIDIA", "yuv420p"),
    ("h264_videotoolbox", "Apple", "yuv420p"),
    ("h264_qsv", "Intel", "nv12"),
    ("h264_amf", "AMD", "yuv420p"),
    ("h264_mf", "Windows", "nv12"),
    ("libx264", "", "yuv420p"),
    ("libopenh264", "", "yuv420p"),
)


@dataclass(frozen=True, slots=True)
class Encoder:
    """An H.264 encoder of the FFmpeg that PyAV carries.

    Attributes:
        name: FFmpeg's.
        maker: of the hardware; empty for an encoder that runs on the CPU.
        pixel_format: FFmpeg's name of what it takes.
        trouble: why it can't be used here; empty if it can.
    """

    name: str
    maker: str
    pixel_format: str
    trouble: str = ""


def h264_encoders(width: int = 640, height: int = 360) -> list[Encoder]:
    """The encoders that PyAV was built with, best first, each tried on one picture of this size."""
    import av

    return [
        Encoder(name, maker, pixel_format, _trouble(name, pixel_format, width, height))
        for name, maker, pixel_format in _CANDIDATES
        if name in av.codecs_available
    ]


def _trouble(name: str, pixel_format: str, width: int, height: int) -> str:
    import av
    from av.video.codeccontext import VideoCodecContext

    try:
        context = av.CodecContext.create(name, "w")
        assert isinstance(context, VideoCodecContext)
        context.width, context.height, context.pix_fmt = width, height, pixel_format
        context.time_base, context.framerate = Fraction(1, 30), Fraction(30)
        frame = av.VideoFrame(width, height, pixel_format)
        frame.pts = 0
        packets = [*context.encode(frame), *context.encode(None)]
    except (av.error.FFmpegError, ValueError, OSError) as error:
        return getattr(error, "strerror", None) or str(error)
    return "" if packets else "it gives no picture"
