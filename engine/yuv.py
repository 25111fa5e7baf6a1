"""Between a codec's pictures (YUV in some matrix and range, 8 to 16 bits) and BGR pixels.

swscale does the arithmetic; this module only sees to it that the right matrix and range are used in
both directions, so that a clip that is decoded and encoded again keeps its colours even where its tags
are missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import Interpolation, VideoReformatter

from engine.hdr import Transfer, tone_map
from engine.types import Image

# ITU-T H.273 code points, which FFmpeg's enumerations follow.
BT709, UNSPECIFIED, BT470BG, SMPTE170M = 1, 2, 5, 6
LIMITED, FULL = 1, 2

# Without these flags swscale rounds down: a round trip would darken the picture by 1.6 levels
# (measured on a 720p clip; with them 0.00, for 5 ms instead of 1.7).
_EXACT = int(Interpolation.BILINEAR | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT)


@dataclass(frozen=True, slots=True)
class ColourTags:
    """How a clip's numbers are to be read; H.273 code points, 2 = not said (range: 0 = not said)."""

    matrix: int = UNSPECIFIED
    range: int = 0
    primaries: int = UNSPECIFIED
    transfer: int = UNSPECIFIED

    @classmethod
    def of(cls, frame: VideoFrame) -> ColourTags:
        """The tags of a decoded frame; those of an RGB frame say nothing about YUV."""
        if frame.format.is_rgb or frame.format.has_palette:
            return cls()
        full = FULL if frame.format.name.startswith("yuvj") else int(frame.color_range)
        return cls(int(frame.colorspace), full, int(frame.color_primaries), int(frame.color_trc))

    @property
    def hdr(self) -> Transfer | None:
        """The HDR transfer function, None for ordinary pictures."""
        return Transfer(self.transfer) if self.transfer in {t.value for t in Transfer} else None

    @property
    def sdr(self) -> ColourTags:
        """The tags after `Converter.to_bgr`: BT.709 where the picture was HDR."""
        return ColourTags(BT709, LIMITED, BT709, BT709) if self.hdr else self

    def said(self, height: int) -> ColourTags:
        """Matrix and range filled in as players guess them: BT.709 from 720 lines on, else BT.601."""
        guess = BT709 if height >= 720 else SMPTE170M
        known = self.matrix not in (0, UNSPECIFIED)
        return replace(self, matrix=self.matrix if known else guess, range=self.range or LIMITED)


class Converter:
    """Converts frames both ways; not thread-safe, since it keeps swscale's context.

    One context on one thread: a frame's own `reformat` makes a new one for each frame, with a pool of
    threads that outlives it (PyAV 18).
    """

    def __init__(self) -> None:
        self._scaler = VideoReformatter()

    def to_bgr(
        self, frame: VideoFrame, tags: ColourTags, width: int | None = None, height: int | None = None
    ) -> Image:
        """A decoded frame as uint8, H×W×3, BGR, full range; scaled if a size is given.

        Pictures of more than 8 bits are rounded; HDR (PQ, HLG) is tone-mapped to BT.709.
        """
        if frame.format.is_rgb or frame.format.has_palette:
            return _pixels(
                self._scaler.reformat(frame, width, height, "bgr24", interpolation=_EXACT, threads=1)
            )
        said = tags.said(frame.height)
        rgb = self._scaler.reformat(
            frame,
            width,
            height,
            "rgb48le" if tags.hdr else "bgr24",
            src_colorspace=said.matrix,
            src_color_range=said.range,
            dst_color_range=FULL,
            interpolation=_EXACT,
            threads=1,
        )
        if tags.hdr:
            return tone_map(np.asarray(rgb.to_ndarray(), np.uint16), tags.hdr)
        return _pixels(rgb)

    def from_bgr(self, image: Image, pixel_format: str, tags: ColourTags) -> VideoFrame:
        """A picture ready for an encoder, tagged; the inverse of `to_bgr` for SDR pictures.

        Args:
            image: uint8, H×W×3, BGR.
            pixel_format: FFmpeg's name, for example `yuv420p`.
            tags: of the stream to write; gaps are filled as `ColourTags.said` does.
        """
        said = tags.said(image.shape[0])
        out = self._scaler.reformat(
            VideoFrame.from_ndarray(np.ascontiguousarray(image), "bgr24"),
            format=pixel_format,
            src_color_range=FULL,
            dst_colorspace=said.matrix,
            dst_color_range=said.range,
            interpolation=_EXACT,
            threads=1,
        )
        out.colorspace, out.color_range = tags.matrix, tags.range
        out.color_primaries, out.color_trc = tags.primaries, tags.transfer
        return out


def _pixels(frame: VideoFrame) -> Image:
    image: Image = np.ascontiguousarray(frame.to_ndarray(), np.uint8)
    return image
