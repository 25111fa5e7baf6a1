"""Making faces unrecognisable in place: what the leak guard does to a region or a whole picture."""

from __future__ import annotations

from collections.abc import Iterable

import cv2

from engine.config import GuardPolicy
from engine.track.base import Box
from engine.types import Image

_MARGIN = 0.35
"""Added on each side of a face's box, as a share of its size: hair, ears, chin and motion."""
_BLOCKS = 6
"""Samples left across a covered face. Eight and fewer across a face are known to defeat
recognition by people and by networks (Gross et al., "Model-based face de-identification", 2006)."""
_PICTURE_BLOCKS = 8
"""Samples left across the shorter side of a picture that is covered as a whole."""


def cover_regions(image: Image, boxes: Iterable[Box], policy: GuardPolicy) -> None:
    """Cover each box, with a margin, in place.

    Args:
        image: uint8, H×W×3, BGR; written to.
        boxes: faces, in its pixels; parts outside are ignored.
        policy: BLUR or PIXELATE.
    """
    height, width = image.shape[:2]
    for x0, y0, x1, y1 in boxes:
        dx, dy = (x1 - x0) * _MARGIN, (y1 - y0) * _MARGIN
        left, right = max(int(x0 - dx), 0), min(int(x1 + dx) + 1, width)
        top, bottom = max(int(y0 - dy), 0), min(int(y1 + dy) + 1, height)
        if right > left and bottom > top:
            region = image[top:bottom, left:right]
            region[:] = _reduced(region, _BLOCKS, policy)


def cover_picture(image: Image, policy: GuardPolicy) -> None:
    """Cover the whole picture in place, where nobody knows where the face is."""
    image[:] = _reduced(image, _PICTURE_BLOCKS, policy)


def _reduced(region: Image, blocks: int, policy: GuardPolicy) -> Image:
    """The region from so few samples that no face can be recognised in it."""
    height, width = region.shape[:2]
    scale = blocks / min(height, width)
    size = (max(min(round(width * scale), width // 2), 1), max(min(round(height * scale), height // 2), 1))
    small = cv2.resize(region, size, interpolation=cv2.INTER_AREA)
    how = cv2.INTER_NEAREST if policy is GuardPolicy.PIXELATE else cv2.INTER_CUBIC
    return cv2.resize(small, (width, height), interpolation=how)  # type: ignore[return-value]
