"""Writing one picture to a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from engine.atomic import replacing
from engine.errors import UsageError
from engine.types import Image

_OPTIONS = {
    ".png": (),
    ".jpg": (cv2.IMWRITE_JPEG_QUALITY, 95),
    ".jpeg": (cv2.IMWRITE_JPEG_QUALITY, 95),
    ".webp": (cv2.IMWRITE_WEBP_QUALITY, 95),
    ".tif": (),
    ".tiff": (),
    ".bmp": (),
}

PICTURE_SUFFIXES = tuple(_OPTIONS)
"""Endings that `write_picture` knows."""


def write_picture(path: str | Path, image: Image, finish: Callable[[Path], None] | None = None) -> None:
    """Write a picture in the format its ending names; the file is complete or not there at all.

    Args:
        path: `.png`, `.jpg`, `.jpeg`, `.webp`, `.tif`, `.tiff` or `.bmp`.
        image: uint8, H×W×3, BGR, sRGB, upright.
        finish: called with the finished file before it is moved into place (the manifest).

    Raises:
        UsageError: another ending, or a folder that does not exist.
        DeviceError: no permission, or no room.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _OPTIONS:
        raise UsageError(
            f"Kawari can't write pictures called {suffix or 'without an ending'}",
            f"Use one of {', '.join(PICTURE_SUFFIXES)}",
        )
    if suffix == ".webp" and max(image.shape[:2]) > 16383:
        raise UsageError("WebP pictures have at most 16383 pixels a side", "Use .png")
    done, data = cv2.imencode(suffix, image, np.array(_OPTIONS[suffix], np.int32).tolist())
    assert done
    with replacing(path) as partial:
        partial.write_bytes(data.tobytes())
        if finish is not None:
            finish(partial)
