"""A small software rasteriser: which triangle covers a cell, and its vertices' values there."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

_SHIFT = 4
"""Fractional bits of `cv2.fillConvexPoly`."""


def cover(
    points: NDArray[np.float32], triangles: NDArray[np.int32], order: NDArray[np.intp], size: tuple[int, int]
) -> NDArray[np.int16]:
    """The number of the triangle that covers each cell, int16 (h, w), -1 = none.

    Args:
        points: (V, 2), cells, centres at integers.
        triangles: (T, 3).
        order: which triangles to draw; a later one hides an earlier one.
        size: width and height in cells.
    """
    ids = np.full((size[1], size[0]), -1, np.int16)
    corners = np.round(points * (1 << _SHIFT)).astype(np.int32)[triangles[order]]
    fill = cv2.fillConvexPoly
    for number, polygon in zip(order.tolist(), corners, strict=True):
        fill(ids, polygon, number, cv2.LINE_8, _SHIFT)
    return ids


def interpolate(
    ids: NDArray[np.int16],
    points: NDArray[np.float32],
    triangles: NDArray[np.int32],
    values: NDArray[np.float32],
) -> NDArray[np.float32]:
    """The vertices' `values` (V, C), interpolated in every covered cell: float32 (h, w, C), 0 elsewhere.

    Weights are clipped to the triangle, since cells on its border may lie a little outside, where a
    sliver would extrapolate wildly.
    """
    inside, corners, weights = barycentric(ids, points, triangles)
    out = np.zeros((ids.size, values.shape[1]), np.float32)
    out[inside] = np.einsum("nk,nkc->nc", weights, values[corners])
    return out.reshape(*ids.shape, -1)


def barycentric(
    ids: NDArray[np.int16], points: NDArray[np.float32], triangles: NDArray[np.int32]
) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.float32]]:
    """Covered cells (N,) in flat order, their triangles' vertices (N, 3) and the weights of these (N, 3)."""
    flat = ids.ravel()
    inside = np.flatnonzero(flat >= 0)
    which = flat[inside]
    a = points[triangles[:, 0]]
    ab, ac = points[triangles[:, 1]] - a, points[triangles[:, 2]] - a
    area = ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0]
    inverse = np.divide(1, area, out=np.zeros_like(area), where=np.abs(area) > 1e-6)
    # (T, 6): weight of b = x·k0 + y·k1 + k2, of c = x·k3 + y·k4 + k5
    kb = np.stack([ac[:, 1], -ac[:, 0], a[:, 1] * ac[:, 0] - a[:, 0] * ac[:, 1]], 1) * inverse[:, None]
    kc = np.stack([-ab[:, 1], ab[:, 0], a[:, 0] * ab[:, 1] - a[:, 1] * ab[:, 0]], 1) * inverse[:, None]
    k = np.concatenate([kb, kc], 1)[which]
    y, x = np.divmod(inside, ids.shape[1])
    x, y = x.astype(np.float32), y.astype(np.float32)
    wb = np.clip(k[:, 0] * x + k[:, 1] * y + k[:, 2], 0, 1)
    wc = np.clip(k[:, 3] * x + k[:, 4] * y + k[:, 5], 0, 1)
    over = np.maximum(wb + wc, 1)
    wb, wc = wb / over, wc / over
    weights = np.stack([1 - wb - wc, wb, wc], 1).astype(np.float32)
    return inside, triangles[which], weights
