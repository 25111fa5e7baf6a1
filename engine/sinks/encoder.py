"""One encoded video track in a file that PyAV writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import av
from av.container import OutputContainer
from av.filter import Graph
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from engine.types import Image
from engine.yuv import ColourTags, Converter


@dataclass(frozen=True, slots=True)
class Codec:
    """An FFmpeg encoder and how it is used.

    Attributes:
        name: FFmpeg's name.
        options: its options.
        odd_sizes: it takes odd sizes with halved chroma.
        full_chroma: it can store chroma in full resolution.
        pixels: FFmpeg's name of the layout it takes chroma of half resolution in.
    """

    name: str
    options: dict[str, str]
    odd_sizes: bool = True
    full_chroma: bool = True
    pixels: str = "yuv420p"


# crf 17 is what x264's documentation calls visually lossless; "fast" costs half of "medium" for
# about 3 % more bytes
H264 = Codec("libx264", {"crf": "17", "preset": "fast"}, odd_sizes=False)
# constant quality needs a bit rate of 0 (libvpx); speed 4 is Google's advice for good quality on one pass
VP9 = Codec("libvpx-vp9", {"crf": "20", "b": "0", "deadline": "good", "cpu-used": "4", "row-mt": "1"})
GIF = Codec("gif", {})
WEBP = Codec("libwebp_anim", {"quality": "90"}, full_chroma=False)


@dataclass(frozen=True, slots=True)
class VideoFormat:
    """The video to be written.

    Attributes:
        width, height: pixels.
        fps: nominal frames per second.
        time_base: unit of the times given to `VideoTrack.write`, seconds.
        tags: how colours are stored and marked.
        sample_aspect: width over height of a pixel.
        full_chroma: store chroma in full resolution if the codec can.
    """

    width: int
    height: int
    fps: float
    time_base: Fraction
    tags: ColourTags = field(default_factory=ColourTags)
    sample_aspect: Fraction = Fraction(1)
    full_chroma: bool = False


class VideoTrack:
    """Encodes pictures into a stream of its own in an open container.

    Where the size is odd and the codec can't halve chroma then (H.264), chroma keeps its resolution,
    so that the size is exactly the one asked for.
    """

    def __init__(self, container: OutputContainer, codec: Codec, video: VideoFormat) -> None:
        self._container = container
        self._convert = Converter()
        self._video = video
        odd = bool(video.width % 2 or video.height % 2) and not codec.odd_sizes
        full = codec.full_chroma and (video.full_chroma or odd)
        self._pixels = "yuv444p" if full else codec.pixels
        self._palette: Graph | None = None
        rate = Fraction(video.fps).limit_denominator(1001)
        stream = container.add_stream(codec.name, rate=rate, options=dict(codec.options))
        assert isinstance(stream, VideoStream)
        self._stream, context = stream, stream.codec_context
        context.width, context.height = video.width, video.height
        context.bit_rate = 0
        context.time_base = stream.time_base = video.time_base
        if codec is GIF:
            context.pix_fmt = "pal8"
            self._palette = _palette_graph(video)
            return
        context.pix_fmt = self._pixels
        context.sample_aspect_ratio = video.sample_aspect
        tags = video.tags
        context.colorspace, context.color_range = tags.matrix, tags.range
        context.color_primaries, context.color_trc = tags.primaries, tags.transfer
        context.thread_type = "AUTO"

    def write(self, image: Image, pts: int) -> None:
        """Encode a picture of the track's size; `pts` counts in the video's time base and must grow."""
        if image.shape[:2] != (self._video.height, self._video.width):
            raise ValueError(f"picture of {image.shape[:2]} in a track of {self._video}")
        if self._palette is None:
            frame = self._convert.from_bgr(image, self._pixels, self._video.tags)
        else:
            frame = VideoFrame.from_ndarray(image, "bgr24")
        frame.pts, frame.time_base = pts, self._video.time_base
        for ready in self._indexed(frame):
            self._mux(self._stream.encode(ready))

    def finish(self) -> None:
        """Write what the encoder still holds."""
        self._mux(self._stream.encode(None))

    def _indexed(self, frame: VideoFrame) -> Iterator[VideoFrame]:
        if self._palette is None:
            yield frame
            return
        self._palette.push(frame)
        while True:
            try:
                ready = self._palette.pull()
            except (av.error.BlockingIOError, av.error.EOFError):
                return
            assert isinstance(ready, VideoFrame)
            yield ready

    def _mux(self, packets: list[Packet[VideoStream]]) -> None:
        for packet in packets:
            self._container.mux(packet)


def _palette_graph(video: VideoFormat) -> Graph:
    """256 colours chosen for each frame; ordered dither, because error diffusion flickers."""
    graph = Graph()
    source = graph.add_buffer(
        width=video.width,
        height=video.height,
        format=av.VideoFormat("bgr24", video.width, video.height),
        time_base=video.time_base,
    )
    split = graph.add("split")
    choose = graph.add("palettegen", "stats_mode=single:reserve_transparent=0")
    use = graph.add("paletteuse", "new=1:dither=bayer:bayer_scale=3")
    sink = graph.add("buffersink")
    source.link_to(split)
    split.link_to(use, 0, 0)
    split.link_to(choose, 1, 0)
    choose.link_to(use, 0, 1)
    use.link_to(sink)
    graph.configure()
    return graph
