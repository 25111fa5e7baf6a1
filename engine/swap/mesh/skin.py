"""Which texels of an unwrapped photo are the person's skin, so that hair and hands stay behind."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.pixels import blurred, shrunk, stretched
from engine.swap.mesh.regions import FACE_WIDTH, Plane, regions

SIDE = 160
"""Side of the atlas in which skin is judged, texels."""
NEAR = 0.05
"""Reach of one step of growth, in face widths."""
STEPS = 14
DARKER, DARKER_BELOW, BRIGHTER = 0.19, 0.4, 0.35
"""How much darker or brighter than the skin beside it skin may be (natural logarithm). Below the nose
beards and the shadow of the jaw are dark, and hair is rare."""
TINT = 10.0
"""How far from the tint of the skin beside it, in CIELAB units of a*, b*."""
ROUGH = 1.9
"""How much rougher than usual for this skin: hair is streaky."""


def skin_likelihood(texture: NDArray[np.uint8], visible: Plane) -> Plane:
    """Grow the skin outwards from the middle of the face as long as its tone changes slowly.

    Light falls off slowly over skin and hair begins with a step; comparing each texel with accepted
    skin beside it tells the two apart even in hard side light, which no single skin colour does.

    Args:
        texture: uint8 (n, n, 3), BGR, the photo unwrapped into the atlas.
        visible: float32 (n, n), how well the photo shows each texel.

    Returns:
        float32 (n, n), 1 = skin (eyes, brows and lips count as skin), 0 = hair, hands, background.
    """
    size = texture.shape[0]
    part = regions(SIDE)
    width = FACE_WIDTH * SIDE
    small = shrunk(texture, SIDE, SIDE)
    lab = np.asarray(cv2.cvtColor(blurred(small, 0.8), cv2.COLOR_BGR2LAB), np.float32)
    grey = np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2GRAY), np.float32)
    values = np.dstack([np.log(blurred(grey, 0.8) + 8), lab[..., 1:]]).astype(np.float32)
    seen = shrunk(visible, SIDE, SIDE) > 0.05
    usable = (part.face > 0) & (part.features == 0) & seen
    smooth_enough = _roughness(grey, width) < ROUGH * _usual_roughness(grey, width, usable & (part.core > 0))

    beardy = (1 - part.upper) * part.middle
    darker = DARKER + (DARKER_BELOW - DARKER) * beardy
    smooth_enough |= beardy > 0.5
    accepted = (usable & (part.seed > 0)).astype(np.float32)
    for _ in range(STEPS):
        mass = blurred(accepted, NEAR * width)
        beside = blurred(values * accepted[..., None], NEAR * width) / (mass[..., None] + 1e-6)
        change = values - beside
        alike = (change[..., 0] > -darker) & (change[..., 0] < BRIGHTER)
        alike &= (change[..., 1] ** 2 + change[..., 2] ** 2 < TINT**2) & smooth_enough
        accepted = (usable & (mass > 0.02) & (alike | (part.seed > 0))).astype(np.float32)

    beard = (part.chin > 0) & seen
    bearded = beard.any() and float(accepted[beard].mean()) < 0.5
    # A beard is part of the face: where the chin is no bare skin, the jaw is not judged.
    judged = 1 - beardy if bearded else np.ones_like(part.upper)
    likelihood = np.maximum(1 - judged * (1 - accepted), (part.features > 0) * (part.centre > 0)) * seen
    likelihood = _without_specks(np.asarray(likelihood, np.float32))
    likelihood = np.maximum(likelihood, part.centre * seen) * part.face
    return np.asarray(np.clip(stretched(blurred(likelihood, 0.012 * width), size, size), 0, 1), np.float32)


def _roughness(grey: Plane, width: float) -> Plane:
    detail = grey - blurred(grey, 0.02 * width)
    return np.asarray(np.sqrt(blurred(detail * detail, 0.02 * width)) / (blurred(grey, 0.04 * width) + 12))


def _usual_roughness(grey: Plane, width: float, sure: NDArray[np.bool_]) -> float:
    if not sure.any():
        return 1.0
    return max(float(np.percentile(_roughness(grey, width)[sure], 75)), 0.012)


def _without_specks(likelihood: Plane) -> Plane:
    """Fill holes, drop islands, and keep off the border, where skin and hair mix."""
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (7, 7))
    closed = cv2.morphologyEx(likelihood, cv2.MORPH_CLOSE, kernel)
    opened = cv2.morphologyEx((closed > 0.5).astype(np.uint8), cv2.MORPH_OPEN, kernel)
    outlines, _ = cv2.findContours(opened, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    out = np.zeros((SIDE, SIDE), np.uint8)
    if outlines:
        cv2.drawContours(out, [max(outlines, key=cv2.contourArea)], -1, 1, cv2.FILLED)
    out = np.asarray(cv2.erode(out, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 3))), np.uint8)
    return out.astype(np.float32)
