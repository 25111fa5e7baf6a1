"""Animated WebP, which FFmpeg can't decode, read with Pillow."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from PIL import Image as PillowImage

from engine.errors import InputError
from engine.sources.decode import ClipInfo, Picture


class AnimationDecoder:
    """An animation that Pillow reads; see `engine.sources.decode.Decoder`.

    Transparent pixels are laid over white, as for photos.
    """

    def __init__(self, path: Path) -> None:
        self.unreadable = 0
        self._path = path
        try:
            self._file = PillowImage.open(path)
            self._count = getattr(self._file, "n_frames", 1)
            durations = [self._milliseconds(i) for i in range(self._count)]
        except (OSError, ValueError, SyntaxError) as error:
            raise InputError(f"{path.name} can't be decoded", "The file is damaged") from error
        self._starts = np.concatenate([[0], np.cumsum(durations)[:-1]]).tolist()
        total = sum(durations) / 1000
        width, height = self._file.size
        self.info = ClipInfo(width, height, self._count / total, self._count, total, 0.0, Fraction(1, 1000))

    def pictures(self) -> Iterator[Picture]:
        """All pictures, in order of time."""
        for index, start in enumerate(self._starts):
            try:
                self._file.seek(index)
                rgba = self._file.convert("RGBA")
            except (OSError, ValueError, SyntaxError, EOFError):
                self.unreadable = self._count - index
                if index == 0:
                    raise InputError(f"No frame of {self._path.name} can be decoded") from None
                return
            white = PillowImage.new("RGBA", rgba.size, "white")
            rgb = np.asarray(PillowImage.alpha_composite(white, rgba).convert("RGB"))
            yield Picture(np.ascontiguousarray(rgb[..., ::-1]), start / 1000)

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def _milliseconds(self, index: int) -> int:
        self._file.seek(index)
        self._file.load()  # Pillow knows a WebP frame's duration only after decoding it
        return max(1, int(self._file.info.get("duration") or 100))
