"""Pictures into network inputs and back, by contract, into buffers that are made once."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.catalog.entry import Contract
from engine.types import Image

Blob = NDArray[np.float32]


class PictureInput:
    """Turns BGR crops into the network's input.

    Args:
        contract: layout, colour order, mean and standard deviation.
        size: side of the crop, pixels.
    """

    def __init__(self, contract: Contract, size: int) -> None:
        self._planar = contract.layout == "nchw"
        self._size = size
        self._blobs: dict[int, Blob] = {}
        order = (2, 1, 0) if contract.colour == "rgb" else (0, 1, 2)
        self._channels = [
            (channel, 1 / (255 * std), -mean / std)
            for channel, mean, std in zip(order, contract.mean, contract.std, strict=True)
        ]

    def __call__(self, *crops: Image) -> Blob:
        """Fill and return the buffer for so many crops; it is valid until the next call.

        Args:
            crops: uint8, size×size×3, BGR.
        """
        blob = self._blobs.get(len(crops))
        if blob is None:
            sides = (3, self._size, self._size) if self._planar else (self._size, self._size, 3)
            blob = self._blobs[len(crops)] = np.zeros((len(crops), *sides), np.float32)
        for picture, crop in zip(blob, crops, strict=True):
            for index, (channel, scale, shift) in enumerate(self._channels):
                plane = picture[index] if self._planar else picture[..., index]
                np.multiply(crop[..., channel], np.float32(scale), out=plane)
                if shift:
                    plane += np.float32(shift)
        return blob


class PictureOutput:
    """Turns the network's picture into a BGR crop.

    Args:
        contract: layout, colour order, and the output's mean and standard deviation.
    """

    def __init__(self, contract: Contract) -> None:
        self._contract = contract

    def __call__(self, output: NDArray[np.floating]) -> Image:
        """A new uint8 picture, size×size×3, BGR.

        Args:
            output: (1, 3, size, size) or (1, size, size, 3).
        """
        contract = self._contract
        planes = output[0] if contract.layout == "nchw" else np.moveaxis(output[0], -1, 0)
        if contract.colour == "rgb":
            planes = planes[::-1]
        picture = cv2.merge([np.ascontiguousarray(plane, np.float32) for plane in planes])
        scaled = cv2.convertScaleAbs(
            np.maximum(picture, -contract.out_mean / contract.out_std),
            alpha=255 * contract.out_std,
            beta=255 * contract.out_mean,
        )
        return np.asarray(scaled, np.uint8)


def is_sound(output: NDArray[np.floating]) -> bool:
    """False for what broken arithmetic gives: not a number, infinite, or one flat colour."""
    return bool(np.isfinite(output).all()) and float(np.ptp(output)) > 1e-3
