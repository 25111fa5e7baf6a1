"""The swap's own arithmetic on a device: crop, normalise, colour, mask, paste.

Written once for NumPy's interface: `xp` is NumPy on the host and CuPy on a GPU. Each function has a
twin on the host that uses OpenCV; tests hold the two against each other. Arrays stay on the device;
matrices are small and come from the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.catalog.entry import Contract
from engine.types import Matrix

Array = Any
"""An array of the device's module."""
_EPS = 1e-3


def sample(xp: Any, picture: Array, x: Array, y: Array) -> Array:
    """Bilinear samples; 0 outside, as with `cv2.BORDER_CONSTANT`.

    Args:
        xp: the array module.
        picture: (H, W, C) or (H, W), any type.
        x, y: float32, coordinates in its pixels, same shape.

    Returns:
        float32, the shape of `x`, and channels if there are some.
    """
    height, width = picture.shape[:2]
    left, top = xp.floor(x), xp.floor(y)
    fx, fy = x - left, y - top
    total: Array = 0.0
    for dx, wx in ((0, 1 - fx), (1, fx)):
        for dy, wy in ((0, 1 - fy), (1, fy)):
            column, row = left + dx, top + dy
            inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
            weight = xp.where(inside, wx * wy, 0).astype(xp.float32)
            at = picture[
                xp.clip(row, 0, height - 1).astype(xp.int32), xp.clip(column, 0, width - 1).astype(xp.int32)
            ]
            total = total + at * (weight[..., None] if picture.ndim == 3 else weight)
    return total


def crop(xp: Any, frame: Array, matrix: Matrix, size: int) -> Array:
    """The aligned crop, float32 (size, size, 3) in 0..255; twin: `cv2.warpAffine`.

    Args:
        xp: the array module.
        frame: uint8 (H, W, 3).
        matrix: from frame to crop pixels.
        size: side of the crop.
    """
    x, y = _grid(xp, inverse(matrix), 0, 0, size, size)
    return sample(xp, frame, x, y)


def normalise(picture: Array, contract: Contract, blob: Array) -> None:
    """Write a BGR crop into one picture of the network's input; twin: `tensors.PictureInput`.

    Args:
        picture: float32 (s, s, 3), 0..255.
        contract: layout, colour order, mean and standard deviation.
        blob: (3, s, s) or (s, s, 3), of the type that the network takes.
    """
    order = (2, 1, 0) if contract.colour == "rgb" else (0, 1, 2)
    for index, (channel, mean, std) in enumerate(zip(order, contract.mean, contract.std, strict=True)):
        plane = blob[index] if contract.layout == "nchw" else blob[..., index]
        plane[...] = picture[..., channel] * np.float32(1 / (255 * std)) - np.float32(mean / std)


def picture(xp: Any, output: Array, contract: Contract) -> tuple[Array, Array]:
    """One picture of the network's output as a BGR crop; twins: `tensors.PictureOutput` and `is_sound`.

    Args:
        xp: the array module.
        output: (3, s, s) or (s, s, 3).
        contract: layout, colour order, the output's mean and standard deviation.

    Returns:
        float32 (s, s, 3) in 0..255, and whether it is one: a number everywhere, and not one flat colour.
    """
    output = output.astype(xp.float32)
    sound = xp.isfinite(output).all() & (output.max() - output.min() > np.float32(1e-3))
    values = xp.moveaxis(output, 0, -1) if contract.layout == "nchw" else output
    values = values * np.float32(contract.out_std) + np.float32(contract.out_mean)
    values = values[..., ::-1] if contract.colour == "rgb" else values
    return xp.where(sound, xp.clip(values, 0, 1), 0).astype(xp.float32) * np.float32(255), sound


def tiles(crop: Array, factor: int) -> list[Array]:
    """The factor² tiles of a crop, row by row; twin: `boost.tiles`."""
    return [crop[row::factor, column::factor] for row in range(factor) for column in range(factor)]


def interleave(xp: Any, made: list[Array], factor: int) -> Array:
    """The inverse of `tiles`; twin: `boost.interleave`."""
    side = made[0].shape[0]
    whole = xp.stack(made).reshape(factor, factor, side, side, 3).transpose(2, 0, 3, 1, 4)
    return whole.reshape(side * factor, side * factor, 3)


def match_colour(xp: Any, made: Array, wanted: Array, mask: Array) -> Array:
    """`made` with the mean and spread of `wanted` in each channel, where the mask is.

    Source: "Color Transfer between Images", Reinhard et al. 2001, in BGR. Twin:
    `engine.swap.neural.colour.match_colour`.

    Args:
        xp: the array module.
        made, wanted: float32 (s, s, 3), 0..255.
        mask: float32 (s, s), 0..1.
    """
    weight = (mask / (mask.sum() + _EPS))[..., None]
    one, other = (made * weight).sum((0, 1)), (wanted * weight).sum((0, 1))
    spread = xp.sqrt((weight * (made - one) ** 2).sum((0, 1)))
    aim = xp.sqrt((weight * (wanted - other) ** 2).sum((0, 1)))
    return xp.clip((made - one) * (aim / (spread + _EPS)) + other, 0, 255).astype(xp.float32)


def paste(xp: Any, frame: Array, made: Array, mask: Array, matrix: Matrix) -> None:
    """Blend a crop into the frame in place; where the mask is 0 no bit changes. Twin: `blend.paste`.

    Args:
        xp: the array module.
        frame: uint8 (H, W, 3).
        made: float32 (s, s, 3), 0..255.
        mask: float32 (s, s), 0..1.
        matrix: from crop to frame pixels.
    """
    size = made.shape[0]
    corners = np.array([[0, 0], [size, 0], [0, size], [size, size]]) @ matrix[:, :2].T + matrix[:, 2]
    height, width = frame.shape[:2]
    x0, y0 = (int(v) for v in np.maximum(np.floor(corners.min(0)) - 1, 0))
    x1, y1 = (int(v) for v in np.minimum(np.ceil(corners.max(0)) + 1, (width, height)))
    if x0 >= x1 or y0 >= y1:
        return
    x, y = _grid(xp, inverse(matrix), x0, y0, x1 - x0, y1 - y0)
    # The crop's edge is repeated, so that it does not darken under the mask's feather.
    colour = sample(xp, made, xp.clip(x, 0, size - 1), xp.clip(y, 0, size - 1))
    weight = sample(xp, mask, x, y)[..., None]
    view = frame[y0:y1, x0:x1]
    mixed = xp.rint(view + (colour - view) * weight)
    view[...] = xp.where(weight * np.float32(255) < np.float32(0.5), view, mixed).astype(xp.uint8)


def inverse(matrix: Matrix) -> Matrix:
    """The matrix of the way back."""
    linear = np.linalg.inv(matrix[:, :2])
    return np.column_stack([linear, -linear @ matrix[:, 2]])


def _grid(xp: Any, matrix: Matrix, left: int, top: int, width: int, height: int) -> tuple[Array, Array]:
    """Where each pixel of a rectangle comes from, float32 (height, width) each."""
    columns = xp.arange(left, left + width, dtype=xp.float32)[None]
    rows = xp.arange(top, top + height, dtype=xp.float32)[:, None]
    (a, b, c), (d, e, f) = (tuple(np.float32(v) for v in row) for row in matrix)
    return a * columns + b * rows + c, d * columns + e * rows + f
