"""A small software rasteriser: which triangle covers a cell, and its vertices' values there.

All triangles are drawn at once, by arrays: `a.take(i)` reads rows several times faster than `a[i]`.
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
    corners: NDArray[np.integer]
    weights: NDArray[np.float32]

    def draw(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The vertices' `values` (V, C) over the grid, float32 (height, width, C), 0 where nothing lies."""
        found = self.weights[:, :1] * values.take(self.corners[:, 0], axis=0)
        for k in (1, 2):
            found += self.weights[:, k : k + 1] * values.take(self.corners[:, k], axis=0)
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
    a, b, c = corners = points.take(triangles.T, axis=0)
    low = np.maximum(np.ceil(corners.min(0)), 0).astype(np.intp)
    high = np.minimum(np.floor(corners.max(0)), (size[0] - 1, size[1] - 1)).astype(np.intp)
    across, down = np.maximum(high - low + 1, 0).T
    # Every cell of every triangle's box is a candidate.
    count = across * down
    which = np.repeat(np.arange(len(triangles)), count)
    number = np.arange(len(which)) - (np.cumsum(count) - count).take(which)
    row, column = np.divmod(number, across.take(which))
    column += low[:, 0].take(which)
    row += low[:, 1].take(which)

    ab, ac = b - a, c - a
    area = ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0]
    inverse = 1 / np.where(np.abs(area) > 1e-6, area, np.float32(np.nan))
    x = column.astype(np.float32) - a[:, 0].take(which)
    y = row.astype(np.float32) - a[:, 1].take(which)
    of_b = (ac[:, 1] * inverse).take(which) * x - (ac[:, 0] * inverse).take(which) * y
    of_c = (ab[:, 0] * inverse).take(which) * y - (ab[:, 1] * inverse).take(which) * x
    inside = np.flatnonzero((of_b >= -_SLACK) & (of_c >= -_SLACK) & (of_b + of_c <= 1 + _SLACK))

    which = which.take(inside)
    cells = (row * size[0] + column).take(inside)
    top = np.full(size[0] * size[1], -1, np.intp)
    np.maximum.at(top, cells, which)
    seen = np.flatnonzero(top.take(cells) == which)
    which, cells, inside = which.take(seen), cells.take(seen), inside.take(seen)
    of_b, of_c = of_b.take(inside), of_c.take(inside)
    weights = np.stack([1 - of_b - of_c, of_b, of_c], 1)
    return Cover(top.reshape(size[1], size[0]), cells, triangles.take(which, axis=0), weights)
