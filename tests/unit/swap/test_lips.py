"""Lips of a source that is made brighter, and of one that is not."""

from __future__ import annotations

import numpy as np
import pytest

from engine.swap.mesh.identity import TEXELS
from engine.swap.mesh.lips import Lips
from engine.swap.mesh.regions import regions
from engine.swap.mesh.sample import Sample

SIDE = 48
SKIN, LIP = (60, 80, 110), (70, 60, 120)
TARGET_SKIN, TARGET_LIP = (130, 160, 210), (115, 120, 175)


def painted(size: int, skin: tuple[int, int, int], lip: tuple[int, int, int]) -> np.ndarray:
    lips = regions(size).lips[..., None]
    return np.asarray(np.float32(skin) * (1 - lips) + np.float32(lip) * lips, np.float32)


def worn(gain: float, seen: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Mean colour of the lips, and of the cheeks."""
    tone = painted(SIDE, SKIN, LIP)
    lips = Lips(tone)
    shown = np.full((TEXELS, TEXELS), seen, np.float32)
    lips.update(Sample(painted(TEXELS, TARGET_SKIN, TARGET_LIP), shown))
    gains = np.full((SIDE, SIDE, 3), gain, np.float32)
    brighter = np.full((SIDE, SIDE, 1), max(1 - 1 / gain, 0), np.float32)
    out = tone * lips.matched(gains, brighter)
    part = regions(SIDE)
    return out[part.lips > 0.95].mean(0), out[part.core > 0].mean(0)


def test_lips_made_much_brighter_have_the_target_s_colour() -> None:
    lips, cheeks = worn(2.0)
    assert lips == pytest.approx(TARGET_LIP, rel=0.12)
    assert cheeks == pytest.approx(2 * np.array(SKIN), rel=0.01)


def test_lips_that_are_not_made_brighter_are_the_source_s() -> None:
    for gain in (0.6, 1.0):
        assert worn(gain)[0] == pytest.approx(gain * np.array(LIP), rel=0.01)


def test_a_little_brighter_is_in_between() -> None:
    red = [worn(gain)[0][2] / worn(gain)[0][1] for gain in (1.0, 1.15, 1.6)]
    assert red[0] > red[1] + 0.05 > red[2] + 0.1


def test_lips_that_are_not_seen_are_left_alone() -> None:
    assert worn(2.0, seen=0.0)[0] == pytest.approx(2 * np.array(LIP), rel=0.01)
