"""Reading still pictures: whatever a person may have as a photo becomes a plain BGR array.

The content of the file decides what it is, never its name. Only decoders of formats that photos
come in are tried (so that, for example, a PostScript file never reaches an interpreter).

Memory: JPEG is reduced inside the decoder (`draft`); other formats are decoded whole by their
libraries, at one to four bytes a pixel, and everything after that works on strips. A picture of
100 megapixels peaks at 80 MB above the interpreter as a baseline JPEG, 320 MB as a progressive one
and 450 MB as an RGB PNG (`tests/unit/identity/test_picture.py` measures it).
"""

from __future__ import annotations

import hashlib
import io
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import ExifTags, ImageCms, ImageFile, UnidentifiedImageError
from PIL import Image as Pillow

from engine.errors import InputError
from engine.identity.heif import is_heif, open_heif
from engine.types import Image

FORMATS = ("JPEG", "PNG", "WEBP", "AVIF", "TIFF", "BMP", "GIF", "JPEG2000", "PPM")
"""Pillow's names of the decoders that may be tried (JPEG opens MPO too); for HEIC see `heif`."""

MAX_PIXELS = 128 * 2**20
"""Largest picture accepted, pixels: the largest cameras sold as "108 megapixels" fit."""

MAX_SIDE = 4096
"""Longer sides are reduced to this: a face of 640 px, the most a swapper uses, is then 1/6 of it."""

_STRIP = 64
"""Rows of the reduced picture that are made at once."""

_READABLE = "Give a photo as JPEG, PNG, WebP, HEIC, AVIF, TIFF or BMP"

_TURNS = {
    2: Pillow.Transpose.FLIP_LEFT_RIGHT,
    3: Pillow.Transpose.ROTATE_180,
    4: Pillow.Transpose.FLIP_TOP_BOTTOM,
    5: Pillow.Transpose.TRANSPOSE,
    6: Pillow.Transpose.ROTATE_270,
    7: Pillow.Transpose.TRANSVERSE,
    8: Pillow.Transpose.ROTATE_90,
}
"""EXIF 2.32, tag 274 `Orientation`, to the turn that undoes it."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A decoded still.

    Attributes:
        image: uint8, H×W×3, BGR, sRGB, upright by its EXIF orientation.
        scale: size of `image` divided by that of the picture in the file, at most 1.
        digest: SHA-256 (hex) of the file's bytes.
    """

    image: Image
    scale: float
    digest: str


def read_picture(path: str | Path, *, max_side: int | None = MAX_SIDE) -> Image:
    """The picture in a file; see `open_picture`, of whose result this is the image."""
    return open_picture(path, max_side=max_side).image


def open_picture(path: str | Path, *, max_side: int | None = MAX_SIDE) -> Picture:
    """Decode a still: the first frame of an animation, transparency over white, colours in sRGB.

    Sixteen-bit grey is scaled to eight bits with rounding; of sixteen-bit colour Pillow gives the
    high byte, which is never further off than one level.

    Args:
        path: any file; its name plays no part in what it is taken for.
        max_side: longest side of the result, pixels; None keeps the size.

    Raises:
        InputError: missing, unreadable, empty, no picture, damaged, or too large.
    """
    path = Path(path)
    with _opened(path) as file, _decoding(path.name):
        picture, longest = _decode(file, max_side)
        image = np.ascontiguousarray(np.asarray(picture)[..., ::-1])
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Picture(image, min(1.0, max(image.shape[:2]) / longest), digest)


def _decode(file: io.BufferedReader, max_side: int | None) -> tuple[Pillow.Image, int]:
    """The reduced upright picture and the longest side of the one in the file."""
    source, (width, height) = _identify(file, max_side)
    with source:
        longest = max(width, height)
        if width * height > MAX_PIXELS:
            raise Pillow.DecompressionBombError
        if max_side is not None and longest > max_side:
            _draft(source, -(-longest // max_side))
        source.load()
        reduced = _reduce(source, 1 if max_side is None else -(-max(source.size) // max_side))
        turn = _TURNS.get(source.getexif().get(ExifTags.Base.Orientation, 1))
        return (reduced if turn is None else reduced.transpose(turn)), longest


@contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputError(f"“{path.name}” is a folder", "Give the photo's file itself")
        if not stat.S_ISREG(status.st_mode):  # a pipe or a device might never end
            raise InputError(f"“{path.name}” is not a plain file", _READABLE)
        if status.st_size == 0:
            raise InputError(f"“{path.name}” is empty (0 bytes)", "Copy or download it again")
        file = path.open("rb")
    except FileNotFoundError as error:
        raise InputError(f"There is no file “{path.name}”", "Check the path and its spelling") from error
    except PermissionError as error:
        raise InputError(f"“{path.name}” may not be read", "Give yourself the right to read it") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        raise InputError(f"“{path.name}” can't be opened", "Check the path and the disk") from error
    with file:
        yield file


@contextmanager
def _decoding(name: str) -> Iterator[None]:
    """Turns whatever a decoder raises on a damaged file into an `InputError`."""
    try:
        with warnings.catch_warnings():
            # Pillow warns from 89 megapixels on (the limit here is MAX_PIXELS) and of odd metadata.
            warnings.simplefilter("ignore")
            yield
    except InputError:
        raise
    except UnidentifiedImageError as error:
        raise InputError(f"“{name}” is not a picture that Kawari reads", _READABLE) from error
    except (Pillow.DecompressionBombError, MemoryError) as error:
        message = f"“{name}” has more than {MAX_PIXELS // 10**6} megapixels"
        raise InputError(message, "Save it smaller in a picture editor") from error
    except Exception as error:
        # Decoders raise nearly anything (OSError, SyntaxError, struct.error, IndexError …).
        raise InputError(f"“{name}” is cut off or damaged", "Copy or download it again") from error


def _identify(file: io.BufferedReader, max_side: int | None) -> tuple[ImageFile.ImageFile, tuple[int, int]]:
    """The picture, not decoded yet, and its width and height. (HEIC comes decoded and reduced.)"""
    head = file.read(32)
    file.seek(0)
    if is_heif(head):
        return open_heif(file.read(), MAX_PIXELS, max_side)
    source = Pillow.open(file, formats=FORMATS)
    return source, source.size


def _draft(source: ImageFile.ImageFile, factor: int) -> None:
    """Let a JPEG decoder make a half, quarter or eighth; other decoders ignore this."""
    scale = 1 << (factor - 1).bit_length()
    source.draft(None, (max(1, source.size[0] // scale), max(1, source.size[1] // scale)))


def _reduce(source: Pillow.Image, factor: int) -> Pillow.Image:
    """`source` as RGB, each side divided by `factor` (means of blocks), made strip by strip."""
    width, height = source.size
    convert = _converter(source)
    result = Pillow.new("RGB", (-(-width // factor), -(-height // factor)))
    for y in range(0, height, _STRIP * factor):
        strip = source.crop((0, y, width, min(y + _STRIP * factor, height)))
        result.paste(convert(strip, factor), (0, y // factor))
    return result


def _converter(source: Pillow.Image) -> Callable[[Pillow.Image, int], Pillow.Image]:
    """How a strip of `source` becomes reduced RGB in sRGB."""
    mode = "CMYK" if source.mode == "CMYK" else "RGB"
    transform = _to_srgb(source.info.get("icc_profile"), mode)

    def convert(strip: Pillow.Image, factor: int) -> Pillow.Image:
        if strip.mode[0] in "IF":
            strip = Pillow.fromarray(_eight_bits(np.asarray(strip)))
        if strip.has_transparency_data:
            rgba = strip.convert("RGBA").reduce(factor)
            strip = Pillow.new("RGB", rgba.size, "white")
            strip.paste(rgba, mask=rgba.getchannel("A"))
        else:
            strip = strip.convert(mode).reduce(factor)
        if transform is not None and strip.mode == mode:
            strip = ImageCms.applyTransform(strip, transform) or strip
        return strip.convert("RGB")

    return convert


def _eight_bits(values: np.ndarray) -> Image:
    """Grey of 16 bits, 32 bits or floats to 0..255 (Pillow would clip at 255)."""
    if values.dtype.kind == "f":
        top = 1.0 if float(np.nanmax(values, initial=0)) <= 1 else 255.0
        return np.asarray(np.clip(np.nan_to_num(values) * (255 / top) + 0.5, 0, 255), np.uint8)
    # v·255/65535 rounded, in integers (PNG specification, section 13.12)
    return np.asarray((np.clip(values, 0, 65535).astype(np.uint32) * 255 + 32895) >> 16, np.uint8)


def _to_srgb(profile: bytes | None, mode: str) -> ImageCms.ImageCmsTransform | None:
    """The colour transform to sRGB; None if none is needed or the profile is unusable."""
    if not profile:
        return None
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        if "sRGB" in ImageCms.getProfileDescription(source):
            return None
        return ImageCms.buildTransform(source, ImageCms.createProfile("sRGB"), mode, "RGB")
    except (ImageCms.PyCMSError, OSError, ValueError):
        return None  # a broken profile is no reason to refuse the photo


__all__ = ["MAX_PIXELS", "MAX_SIDE", "Picture", "open_picture", "read_picture"]
