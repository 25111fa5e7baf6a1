"""The ways to join a patch to its frame."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from engine.blend.modes import paster
from engine.config import Blend
from engine.types import Image, Patch


def ellipse(height: int, width: int) -> np.ndarray:
    mask = np.zeros((height, width), np.uint8)
    cv2.ellipse(mask, (width // 2, height // 2), (width // 3, height // 3), 0, 0, 360, (255,), -1)
    return np.asarray(cv2.GaussianBlur(mask, (0, 0), 5), np.uint8)


def soft(height: int, width: int, seed: int, level: int) -> Image:
    noise = np.random.default_rng(seed).normal(0, 60, (height, width, 3)).astype(np.float32)
    return np.clip(cv2.GaussianBlur(noise, (0, 0), 2) * 4 + level, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("blend", Blend)
@pytest.mark.parametrize("place", [(60, 40), (-50, -30), (250, 170), (900, 0)])
def test_where_the_mask_is_0_no_bit_changes(blend: Blend, place: tuple[int, int]) -> None:
    frame, mask = soft(260, 340, 1, 90), ellipse(160, 200)
    out = frame.copy()
    paster(blend)(out, Patch.at(soft(160, 200, 2, 150), mask, *place))
    reach = np.zeros((1500, 1600), bool)
    x, y = place[0] + 300, place[1] + 300
    reach[y : y + 160, x : x + 200] = mask > 0
    untouched = ~reach[300:560, 300:640]
    assert np.array_equal(out[untouched], frame[untouched])
    if place[0] < 300:
        assert not np.array_equal(out, frame)


@pytest.mark.parametrize("blend", Blend)
@pytest.mark.parametrize("size", [(1, 1), (5, 40), (40, 5), (33, 33)])
def test_tiny_patches(blend: Blend, size: tuple[int, int]) -> None:
    frame = soft(120, 120, 3, 90)
    out = frame.copy()
    paster(blend)(out, Patch.at(soft(*size, 4, 200), np.full(size, 255, np.uint8), 20, 20))
    assert not np.array_equal(out, frame)


def steepest(out: Image, frame: Image) -> float:
    """The steepest step that joining has made along the middle rows, levels a pixel."""
    change = (out.astype(np.float32) - frame).mean(2)[110:130].mean(0)
    return float(np.abs(np.diff(change)).max())


def test_the_slow_ways_hide_a_step_in_brightness() -> None:
    """The same picture, 40 levels brighter: feathering leaves a halo, the others hide it."""
    frame = soft(240, 320, 5, 90)
    brighter = np.clip(frame[40:200, 60:260].astype(int) + 40, 0, 255).astype(np.uint8)
    steps = {}
    for blend in Blend:
        out = frame.copy()
        paster(blend)(out, Patch.at(brighter, ellipse(160, 200), 60, 40))
        steps[blend] = steepest(out, frame)
    assert steps[Blend.FEATHER] > 2
    assert steps[Blend.MULTIBAND] < 0.8 * steps[Blend.FEATHER]
    assert steps[Blend.POISSON] < 0.5 * steps[Blend.FEATHER]


def test_detail_in_the_middle_is_the_patches() -> None:
    frame, made = soft(240, 320, 6, 90), soft(160, 200, 7, 90)
    for blend in Blend:
        out = frame.copy()
        paster(blend)(out, Patch.at(made, ellipse(160, 200), 60, 40))
        fine = [
            cv2.subtract(each, cv2.GaussianBlur(each, (0, 0), 2), dtype=cv2.CV_32F)[60:100, 80:120].ravel()
            for each in (out[40:200, 60:260], made)
        ]
        assert np.corrcoef(*fine)[0, 1] > 0.9
