"""A small software rasteriser: which triangle covers a cell, and its vertices' values there.

All triangles are drawn at once, by arrays: `numpy.take` reads rows several times faster than `a[i]`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.intp]

_SLACK = np.float32(1e-4)
"""Share of a triangle by which a cell's centre may lie outside: rounding must leave no gaps."""


@dataclass(frozen=True, slots=True)
class Cover:
    """Which triangle lies on top in each covered cell.

    Attributes:
        which: (height, width), the triangle's number, -1 = none.
        cells: (N,), the covered cells, counted row by row; each once, in no order.
        corners: (N, 3), their triangles' vertices.
        weights: float32 (N, 3), of these at the cell's centre; they add up to 1.
    """

    which: Cells
    cells: Cells
    corners: Cells
    weights: NDArray[np.float32]

    def draw(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The vertices' `values` (V, C) over the grid, float32 (height, width, C), 0 where nothing lies."""
        found = self.weights[:, :1] * np.take(values, self.corners[:, 0], axis=0)
        for k in (1, 2):
            found += self.weights[:, k : k + 1] * np.take(values, self.corners[:, k], axis=0)
        out = np.zeros((self.which.size, values.shape[1]), np.float32)
        out[self.cells] = found
        return out.reshape(*self.which.shape, -1)


def cover(points: NDArray[np.float32], triangles: NDArray[np.integer], size: tuple[int, int]) -> Cover:
    """Draw triangles; a cell belongs to the last one in which its centre lies.

    Args:
        points: (V, 2), cells, centres at integers.
        triangles: (T, 3), in drawing order: a later one hides an earlier one. Empty ones cover nothing.
        size: width and height in cells.
    """
    a, b, c = corners = np.take(points, triangles.T, axis=0)
    low = np.maximum(np.ceil(corners.min(0)), 0).astype(np.intp)
    high = np.minimum(np.floor(corners.max(0)), (size[0] - 1, size[1] - 1)).astype(np.intp)
    across, down = np.maximum(high - low + 1, 0).T
    # Every cell of every triangle's box is a candidate.
    count = across * down
    which = np.repeat(np.arange(len(triangles)), count)
    number = np.arange(len(which)) - np.take(np.cumsum(count) - count, which)
    row, column = np.divmod(number, np.take(across, which))
    column += np.take(low[:, 0], which)
    row += np.take(low[:, 1], which)

    ab, ac = b - a, c - a
    area = ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0]
    inverse = 1 / np.where(np.abs(area) > 1e-6, area, np.float32(np.nan))
    x = column.astype(np.float32) - np.take(a[:, 0], which)
    y = row.astype(np.float32) - np.take(a[:, 1], which)
    of_b = np.take(ac[:, 1] * inverse, which) * x - np.take(ac[:, 0] * inverse, which) * y
    of_c = np.take(ab[:, 0] * inverse, which) * y - np.take(ab[:, 1] * inverse, which) * x
    inside = np.flatnonzero((of_b >= -_SLACK) & (of_c >= -_SLACK) & (of_b + of_c <= 1 + _SLACK))

    which = np.take(which, inside)
    cells = np.take(row * size[0] + column, inside)
    top = np.full(size[0] * size[1], -1, np.intp)
    np.maximum.at(top, cells, which)
    seen = np.flatnonzero(np.take(top, cells) == which)
    which, cells, inside = np.take(which, seen), np.take(cells, seen), np.take(inside, seen)
    of_b, of_c = np.take(of_b, inside), np.take(of_c, inside)
    weights = np.stack([1 - of_b - of_c, of_b, of_c], 1)
    return Cover(top.reshape(size[1], size[0]), cells, np.take(triangles, which, axis=0), weights)
