"""The coarse grid over a face: geometry is drawn once per cell, then enlarged to pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.pixels import PixelT, stretched

CELLS = 108
"""Most cells along the longer side. The maps are smooth: enlarging them is off by 0.7 grey levels on
average against drawing every pixel (the scene of `kawari bench pipeline`), at a small part of the cost."""


Window = tuple[int, int, int, int]
"""x0, y0, x1, y1 in frame pixels, the end not included."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of `cell` pixels; the first pixel of the first cell is (x, y) of the frame."""

    x: int
    y: int
    cell: int
    width: int
    height: int

    @classmethod
    def over(cls, points: NDArray[np.float32], frame: tuple[int, int], detail: float = 1.0) -> Grid | None:
        """The grid that covers `points` (N, 2) with a cell to spare, cut to the `frame` (width, height).

        `detail`, 0..1, is the share of the most cells along a side that it may have.
        None if nothing of it lies in the frame.
        """
        lo, hi = np.floor(points.min(0)), np.ceil(points.max(0))
        cell = max(1, int(np.ceil((hi - lo).max() / (CELLS * detail - 3))))
        lo = np.maximum(lo - cell, -cell).astype(int)
        hi = np.minimum(hi + cell + 1, np.array(frame) + cell).astype(int)
        width, height = (int(n) for n in -(-(hi - lo) // cell))
        if width < 4 or height < 4:
            return None
        return cls(int(lo[0]), int(lo[1]), cell, width, height)

    def cells(self, points: NDArray[np.float32]) -> NDArray[np.float32]:
        """Frame pixels (N, 2) to cells, both with centres at integers."""
        return ((points - (self.x, self.y) + 0.5) / self.cell - 0.5).astype(np.float32)

    def pixels(self) -> NDArray[np.float32]:
        """Frame coordinates of all cell centres, float32 (height, width, 2)."""
        u = (np.arange(self.width, dtype=np.float32) + 0.5) * self.cell - 0.5 + self.x
        v = (np.arange(self.height, dtype=np.float32) + 0.5) * self.cell - 0.5 + self.y
        return np.stack(np.meshgrid(u, v), -1)

    def part(self, rows: slice, columns: slice) -> Grid:
        """The same cells, only those of `rows` and `columns`."""
        return Grid(
            self.x + columns.start * self.cell,
            self.y + rows.start * self.cell,
            self.cell,
            columns.stop - columns.start,
            rows.stop - rows.start,
        )

    def window(self, frame: tuple[int, int]) -> Window:
        """x0, y0, x1, y1 of its pixels that lie in the `frame` (width, height)."""
        return (
            max(self.x, 0),
            max(self.y, 0),
            min(self.x + self.width * self.cell, frame[0]),
            min(self.y + self.height * self.cell, frame[1]),
        )

    def enlarge(self, values: NDArray[PixelT], window: Window) -> NDArray[PixelT]:
        """Cell values (height, width[, C]) for every pixel of `window`, linear in between."""
        x0, y0, x1, y1 = window
        if self.cell > 1:
            size = (self.width * self.cell, self.height * self.cell)
            values = stretched(values, *size)
        return values[y0 - self.y : y1 - self.y, x0 - self.x : x1 - self.x]

    def enlarge_part(self, values: NDArray[np.float32], window: Window) -> NDArray[np.float32]:
        """`enlarge` for a small window: only the cells under it are looked at."""
        x0, y0, x1, y1 = window
        columns = slice(
            max((x0 - self.x) // self.cell - 1, 0), min((x1 - self.x) // self.cell + 2, self.width)
        )
        rows = slice(max((y0 - self.y) // self.cell - 1, 0), min((y1 - self.y) // self.cell + 2, self.height))
        return self.part(rows, columns).enlarge(values[rows, columns], window)
