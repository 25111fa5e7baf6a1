"""Colour match of a crop on the host."""

from __future__ import annotations

import cv2
import numpy as np

from engine.types import Image, Mask


def match_colour(made: Image, wanted: Image, mask: Mask) -> Image:
    """`made` with the mean and spread of `wanted` in each channel, where the mask is.

    Source: "Color Transfer between Images", Reinhard et al. 2001, in BGR: networks draw the target's
    light already, so only a slight cast is left to remove.

    Args:
        made, wanted: uint8, same size, BGR.
        mask: uint8, same size; pixels count where it is above half.
    """
    solid = np.asarray(mask > 127, np.uint8)
    mean, spread = cv2.meanStdDev(made, mask=solid)
    aim, aim_spread = cv2.meanStdDev(wanted, mask=solid)
    gain = aim_spread / (spread + 1e-3)
    shift = aim - mean * gain
    transform = np.concatenate([np.diag(gain[:, 0]), shift], 1)
    return np.asarray(cv2.transform(made, transform), np.uint8)
