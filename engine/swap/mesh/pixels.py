"""Typed short forms of the few OpenCV calls that the mesh swapper makes often."""

from __future__ import annotations

from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

BGR_TO_LUMINANCE: NDArray[np.float32] = np.array([0.114, 0.587, 0.299], np.float32)
"""Weights of ITU-R BT.601."""

PixelT = TypeVar("PixelT", np.uint8, np.float32)


def look_up(picture: NDArray[PixelT], where: NDArray[np.float32]) -> NDArray[PixelT]:
    """`picture` read at `where` (h, w, 2), pixels (x, y), linear, the border repeated."""
    nothing: Any = None
    out: Any = cv2.remap(picture, where, nothing, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return out  # type: ignore[no-any-return]


def shrunk(picture: NDArray[PixelT], width: int, height: int) -> NDArray[PixelT]:
    """`picture` reduced to `width` × `height` by averaging."""
    out: Any = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
    return out  # type: ignore[no-any-return]


def stretched(values: NDArray[PixelT], width: int, height: int) -> NDArray[PixelT]:
    """`values` enlarged to `width` × `height`, linear."""
    out: Any = cv2.resize(values, (width, height), interpolation=cv2.INTER_LINEAR)
    return out  # type: ignore[no-any-return]


def luminance(colour: NDArray[np.float32]) -> NDArray[np.float32]:
    """Luma (h, w) of a picture (h, w, 3), BGR."""
    out: Any = cv2.transform(colour, BGR_TO_LUMINANCE[None])
    return out  # type: ignore[no-any-return]


def blurred(values: NDArray[PixelT], sigma: float) -> NDArray[PixelT]:
    """A Gaussian blur of `sigma` pixels."""
    out: Any = cv2.GaussianBlur(values, (0, 0), sigma)
    return out  # type: ignore[no-any-return]


_FINE = 2.0
"""σ, pixels, down to which a blurred picture may be reduced: enlarging it leaves no grid."""


def widely_blurred(values: NDArray[PixelT], sigma: float) -> NDArray[PixelT]:
    """`blurred` for a wide `sigma`, worked out on a reduced copy."""
    height, width = values.shape[:2]
    factor = 1
    while sigma / (2 * factor) >= _FINE and min(height, width) >= 16 * factor:
        factor *= 2
    small = blurred(shrunk(values, width // factor, height // factor), sigma / factor)
    return stretched(small, width, height)
