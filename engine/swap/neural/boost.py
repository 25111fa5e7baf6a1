"""Pixel boost: a network for small crops run on sub-sampled tiles of a larger one.

Every n-th pixel of the large crop makes a tile that shows the whole face, each a little shifted; the
network swaps each, and the results are put together again pixel by pixel (FaceFusion's technique).
The finest detail is the tiles' own, so what the network draws stays as sharp as the crop.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.types import Image


def tiles(crop: Image, factor: int) -> Iterator[Image]:
    """The factor² tiles of a crop, row by row.

    Args:
        crop: uint8, (n·factor, n·factor, 3).
        factor: 1 gives the crop itself.
    """
    for row in range(factor):
        for column in range(factor):
            yield crop[row::factor, column::factor]


def interleave(made: list[Image], factor: int) -> Image:
    """The inverse of `tiles`."""
    if factor == 1:
        return made[0]
    size = made[0].shape[0] * factor
    whole = np.empty((size, size, 3), np.uint8)
    for index, tile in enumerate(made):
        row, column = divmod(index, factor)
        whole[row::factor, column::factor] = tile
    return whole
