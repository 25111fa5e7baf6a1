"""The linear assignment problem, for as many faces as one picture has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def assign(cost: NDArray[np.float64]) -> NDArray[np.intp]:
    """The column of each row, each column once, that together cost least.

    Shortest augmenting paths with potentials (Jonker & Volgenant 1987; without their initialisation),
    O(rows² × columns). SciPy has the same, but loading it takes most of a second and 35 MB: in a live
    session that would be when a second face comes, and stop the picture.

    Args:
        cost: rows × columns, finite; never more rows than columns.

    Returns:
        int array, one column for each row.

    Raises:
        ValueError: there are more rows than columns.
    """
    rows, columns = cost.shape
    if rows > columns:
        raise ValueError(f"{rows} rows can't each have one of {columns} columns")
    row_of = np.full(columns, -1)
    row_price, column_price = np.zeros(rows), np.zeros(columns)
    for start in range(rows):
        distance = np.full(columns, np.inf)
        reached_from = np.full(columns, -1)
        done = np.zeros(columns, bool)
        row, column, length = start, -1, 0.0
        while row >= 0:
            further = length + cost[row] - row_price[row] - column_price
            nearer = ~done & (further < distance)
            distance[nearer], reached_from[nearer] = further[nearer], column
            column = int(np.where(done, np.inf, distance).argmin())
            done[column], length = True, distance[column]
            row = row_of[column]
        row_price[start] += length
        for settled in np.flatnonzero(done):
            gain = length - distance[settled]
            column_price[settled] -= gain
            if row_of[settled] >= 0:
                row_price[row_of[settled]] += gain
        while column >= 0:
            before = reached_from[column]
            row_of[column] = row_of[before] if before >= 0 else start
            column = before
    found = np.empty(rows, np.intp)
    taken = row_of >= 0
    found[row_of[taken]] = np.flatnonzero(taken)
    return found
