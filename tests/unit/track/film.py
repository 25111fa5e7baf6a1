"""Frames for the tracker: a face that moves as told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import av
import cv2
import numpy as np

from engine.types import Frame, Image


def moved(face: Image, x: float, y: float, *, angle: float = 0, scale: float = 1) -> Image:
    """640×480: the 512×512 picture with its face (at 224, 123) brought to (x, y)."""
    matrix = cv2.getRotationMatrix2D((224, 123), angle, scale)
    matrix[:, 2] += (x - 224, y - 123)
    out = cv2.warpAffine(face, matrix, (640, 480), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(out, np.uint8)


def frame(index: int, image: Image, fps: float = 30) -> Frame:
    return Frame(index, round(index / fps * 1e9), image)


def clip(path: Path, count: int | None = None) -> Iterator[Frame]:
    """Frames of a real clip with their own times."""
    with av.open(str(path)) as container:
        for index, picture in enumerate(container.decode(video=0)):
            if index == count:
                return
            yield Frame(index, 0, picture.to_ndarray(format="bgr24"), float(picture.time or 0))
