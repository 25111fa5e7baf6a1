"""A neural swap that never leaves the device: crop, network, colour and paste on one stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.align import alignment
from engine.catalog.entry import Contract
from engine.runtime import kernels
from engine.swap.neural.mask import box_mask
from engine.types import Points

Run = Callable[[Any], Any]
"""The network on device arrays: input in, output out, queued on the stream in use."""


class DeviceSwap:
    """Swaps faces in frames that lie on a device.

    Args:
        xp: the device's array module.
        contract: the network's contract.
        run: the network with its source input bound.
        match_colour: give the crop the target's mean and spread of colour.
    """

    def __init__(self, xp: Any, contract: Contract, run: Run, *, match_colour: bool = False) -> None:
        self._xp = xp
        self._contract = contract
        self._run = run
        self._match = match_colour
        self._mask = xp.asarray(box_mask(contract.size).astype(np.float32) / np.float32(255))

    def swap(self, frame: Any, points: Points) -> None:
        """Swap the face at the five points in place.

        Args:
            frame: uint8 (H, W, 3), BGR, on the device.
            points: float32 (5, 2) on the host, see `engine.align`.
        """
        xp, contract = self._xp, self._contract
        matrix = alignment(points, contract.template, contract.size)
        crop = kernels.crop(xp, frame, matrix, contract.size)
        made = kernels.picture(xp, self._run(kernels.normalise(xp, crop, contract)), contract)
        if self._match:
            made = kernels.match_colour(xp, made, crop, self._mask)
        linear = np.linalg.inv(matrix[:, :2])
        kernels.paste(xp, frame, made, self._mask, np.column_stack([linear, -linear @ matrix[:, 2]]))
