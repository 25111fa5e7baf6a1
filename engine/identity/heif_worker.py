"""The process that decodes one HEIC picture: `python -m engine.identity.heif_worker MAX_PIXELS MAX_SIDE`.

A process of its own for two reasons: decoders of this format have crashed on damaged files, and
pillow-heif's wheels bundle x265, which is under the GPL. It imports Pillow, pillow-heif and the standard
library.

The file comes through standard input. To standard output go width and height of the picture in the file
(two unsigned 32-bit integers, big-endian), then the first picture as PNG, uncompressed, upright, its sides
divided by a whole number so that they are at most MAX_SIDE (0 = as they are), with its ICC profile.
Exit status: 0, or one of those below; anything else means that the file is damaged.
"""

from __future__ import annotations

import io
import struct
import sys
from typing import Any

TOO_LARGE, NO_HEIF, NO_PACKAGE = 10, 11, 12
HEADER = struct.Struct(">II")


def main(max_pixels: int, max_side: int) -> int:
    """Decode standard input to standard output; returns the exit status."""
    try:
        import pillow_heif
    except ImportError:
        return NO_PACKAGE
    data = sys.stdin.buffer.read()
    if not pillow_heif.is_supported(data):
        return NO_HEIF
    opened: Any = pillow_heif.HeifImageFile  # untyped
    with opened(io.BytesIO(data)) as picture:
        width, height = picture.size
        if width * height > max_pixels:
            return TOO_LARGE
        factor = -(-max(width, height) // max_side) if max_side else 1
        reduced = picture.reduce(factor)
    png = io.BytesIO()
    reduced.save(png, "PNG", compress_level=0, icc_profile=picture.info.get("icc_profile"))
    sys.stdout.buffer.write(HEADER.pack(width, height))
    sys.stdout.buffer.write(png.getbuffer())
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
