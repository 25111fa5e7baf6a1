"""What happens to a watermarked stream on its way to a viewer, done to a list of frames.

All take and give frames of one size, uint8, H×W×3, BGR, and keep their number.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import av
import cv2
import numpy as np

from engine.types import Image

Frames = Sequence[Image]
FPS = 30


@dataclass(frozen=True, slots=True)
class Attack:
    """One row of the table.

    Attributes:
        name: for people.
        apply: does it.
        turned: it turns the picture, where a detection over 60 frames is not demanded.
    """

    name: str
    apply: Callable[[Frames], Frames]
    turned: bool = False


def encoded(codec: str, **options: str) -> Callable[[Frames], Frames]:
    """Encode and decode, 4:2:0, 30 frames a second; an odd row or column is left out, as it must be."""

    def apply(frames: Frames) -> Frames:
        height, width = (side & ~1 for side in frames[0].shape[:2])
        buffer = io.BytesIO()
        with av.open(buffer, "w", format="matroska") as container:
            stream = cast(av.VideoStream, container.add_stream(codec, FPS))
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            stream.options = dict(options)
            stream.codec_context.thread_count = 1  # so that CPU time and result are the same everywhere
            if "b" in options:
                stream.bit_rate = int(options["b"])
            for image in frames:
                even = np.ascontiguousarray(image[:height, :width])
                container.mux(stream.encode(av.VideoFrame.from_ndarray(even, format="bgr24")))
            container.mux(stream.encode(None))
        buffer.seek(0)
        with av.open(buffer, "r") as coded:
            return [_picture(frame.to_ndarray(format="bgr24")) for frame in coded.decode(video=0)]

    return apply


def each(change: Callable[[Image], Image]) -> Callable[[Frames], Frames]:
    """Do the same to every frame."""
    return lambda frames: [change(frame) for frame in frames]


def _picture(array: object) -> Image:
    """OpenCV's types don't say that pictures of 8 bits stay such."""
    return cast(Image, array)


def resized(image: Image, height: int) -> Image:
    """The picture at another height, its width in proportion; itself if it has that height."""
    if image.shape[0] == height:
        return image
    width = round(image.shape[1] * height / image.shape[0])
    smaller = height < image.shape[0]
    how = cv2.INTER_AREA if smaller else cv2.INTER_CUBIC
    return _picture(cv2.resize(image, (width, height), interpolation=how))


def _there_and_back(image: Image) -> Image:
    size = (image.shape[1], image.shape[0])
    return _picture(cv2.resize(resized(image, 480), size, interpolation=cv2.INTER_LINEAR))


def _cropped(image: Image) -> Image:
    height, width = image.shape[:2]
    top, left = round(0.02 * height), round(0.03 * width)
    return image[top : top + round(0.95 * height), left : left + round(0.95 * width)]


def _jpeg(image: Image) -> Image:
    coded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 70])[1]
    return _picture(cv2.imdecode(coded, cv2.IMREAD_COLOR))


def _nv12(image: Image) -> Image:
    height, width = (side & ~1 for side in image.shape[:2])
    # I420 and NV12 hold the same values, in another order.
    coded = cv2.cvtColor(image[:height, :width], cv2.COLOR_BGR2YUV_I420)
    return _picture(cv2.cvtColor(coded, cv2.COLOR_YUV2BGR_I420))


def _gamma(gamma: float) -> Callable[[Image], Image]:
    table = np.rint(255 * (np.arange(256) / 255) ** gamma).astype(np.uint8)
    return lambda image: _picture(cv2.LUT(image, table))


def _turned(degrees: float) -> Callable[[Image], Image]:
    def turn(image: Image) -> Image:
        height, width = image.shape[:2]
        matrix = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), degrees, 1)
        border = cv2.BORDER_REPLICATE
        return _picture(cv2.warpAffine(image, matrix, (width, height), borderMode=border))

    return turn


# As browsers' video calls encode: in real time, without a look ahead.
_LIVE = {"deadline": "realtime", "lag-in-frames": "0", "b": "1000000"}

ATTACKS = (
    Attack("none", lambda frames: frames),
    Attack("H.264 crf 23", encoded("libx264", crf="23")),
    Attack("H.264 crf 28", encoded("libx264", crf="28")),
    Attack("H.264 2.5 Mbit/s", encoded("libx264", b="2500000", preset="veryfast", tune="zerolatency")),
    Attack("VP8 1 Mbit/s", encoded("libvpx", **_LIVE, **{"cpu-used": "4"})),
    Attack("VP9 1 Mbit/s", encoded("libvpx-vp9", **_LIVE, **{"cpu-used": "6"})),
    Attack("480p and back", each(_there_and_back)),
    Attack("540p", each(lambda image: resized(image, 540))),
    Attack("crop 5 %", each(_cropped)),
    Attack("JPEG 70", each(_jpeg)),
    Attack("NV12", each(_nv12)),
    Attack("mirrored", each(lambda image: _picture(cv2.flip(image, 1)))),
    Attack("gamma 0.8", each(_gamma(0.8))),
    Attack("gamma 1.2", each(_gamma(1.2))),
    Attack("turned 0.5°", each(_turned(0.5)), turned=True),
    Attack("turned 1°", each(_turned(1.0)), turned=True),
    Attack("turned 1.5°", each(_turned(-1.5)), turned=True),
    Attack("turned 2°", each(_turned(2.0)), turned=True),
)
