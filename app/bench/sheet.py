"""Contact sheets: the input above, one row of outputs below for each source person."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from engine.types import Face, Image

TILE = 240
MARGIN = 2.0
"""Side of the part shown, over the longer side of the face's box."""


class Sheet:
    """Collects columns of pictures, cut round the face."""

    def __init__(self) -> None:
        self._columns: list[Image] = []

    def add(self, pictures: Sequence[Image], face: Face) -> None:
        """One column: the same part of the input and of each output."""
        self._columns.append(np.vstack([cut(picture, face) for picture in pictures]))

    def write(self, path: Path) -> None:
        """Write what was collected as PNG; nothing if that is nothing."""
        if self._columns:
            path.parent.mkdir(parents=True, exist_ok=True)
            cv2.imencode(".png", np.hstack(self._columns))[1].tofile(str(path))


def cut(picture: Image, face: Face) -> Image:
    """A square round the face, `TILE` pixels, black outside the picture."""
    x0, y0, x1, y1 = face.box
    half = MARGIN * max(x1 - x0, y1 - y0) / 2
    scale = (TILE - 1) / (2 * half)
    matrix = np.array(
        [[scale, 0, -scale * ((x0 + x1) / 2 - half)], [0, scale, -scale * ((y0 + y1) / 2 - half)]]
    )
    flags = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.warpAffine(picture, matrix, (TILE, TILE), flags=flags), np.uint8)
