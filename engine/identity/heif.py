"""HEIC pictures, decoded in a process of their own (`engine.identity.heif_worker`)."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

from PIL import Image as Pillow
from PIL import ImageFile, UnidentifiedImageError

import engine
from engine.errors import InputError
from engine.identity import heif_worker

_MODULE = "engine.identity.heif_worker"
_TIMEOUT_S = 60.0
_OTHER_BRANDS = (b"avif", b"avis")


def is_heif(head: bytes) -> bool:
    """Whether a file that begins so may be HEIF and is not AVIF; at least 32 bytes.

    ISO/IEC 14496-12, section 4.3: `ftyp`, the major brand, a version, and compatible brands.
    """
    return head[4:8] == b"ftyp" and not any(brand in head for brand in _OTHER_BRANDS)


def open_heif(
    data: bytes, max_pixels: int, max_side: int | None
) -> tuple[ImageFile.ImageFile, tuple[int, int]]:
    """The first picture of a HEIF file, reduced, and (width, height) of that in the file.

    Args:
        data: the file's bytes.
        max_pixels: larger ones are refused before they are decoded.
        max_side: longest side of the result, pixels; None keeps the size.

    Raises:
        PIL.UnidentifiedImageError: it is another format with the same kind of head, such as MP4.
        PIL.Image.DecompressionBombError: it has more than `max_pixels`.
        OSError: it is damaged, or its decoder crashed or never ended.
        InputError: pillow-heif is missing.
    """
    root = str(Path(engine.__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    try:
        done = subprocess.run(
            [sys.executable, "-m", _MODULE, str(max_pixels), str(max_side or 0)],
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=False,
            env=os.environ | {"PYTHONPATH": path},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except subprocess.TimeoutExpired as error:
        raise OSError("the decoder did not end") from error
    if done.returncode == heif_worker.NO_HEIF:
        raise UnidentifiedImageError
    if done.returncode == heif_worker.TOO_LARGE:
        raise Pillow.DecompressionBombError
    if done.returncode == heif_worker.NO_PACKAGE:
        raise InputError("HEIC photos need the package pillow-heif", "Install it, or save the photo as JPEG")
    if done.returncode != 0:
        raise OSError(f"the decoder ended with status {done.returncode}")
    header = heif_worker.HEADER.size
    width, height = heif_worker.HEADER.unpack(done.stdout[:header])
    return Pillow.open(io.BytesIO(memoryview(done.stdout)[header:]), formats=("PNG",)), (width, height)
