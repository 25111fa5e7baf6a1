"""Pictures of any shape fill a camera of any shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.sinks.fit import fit_into

sides = st.integers(2, 120)


@settings(max_examples=60, deadline=None)
@given(sides, sides, sides, sides, st.sampled_from(["letterbox", "crop"]))
def test_everything_is_written_and_bars_are_black(w: int, h: int, width: int, height: int, fit: str) -> None:
    target = np.full((height, width, 3), 99, np.uint8)
    fit_into(np.full((h, w, 3), 200, np.uint8), target, fit)  # type: ignore[arg-type]
    assert set(np.unique(target)) <= ({0, 200} if fit == "letterbox" else {200})
    lit = target[..., 0] == 200
    assert lit.any(0).sum() * lit.any(1).sum() == lit.sum()  # one rectangle
    assert lit.any(0).all() or lit.any(1).all()  # it touches two sides


@pytest.mark.parametrize(("fit", "corner"), [("letterbox", (0, 0, 0)), ("crop", (10, 20, 30))])
def test_geometry(fit: str, corner: tuple[int, int, int]) -> None:
    image = np.zeros((90, 160, 3), np.uint8)
    image[:] = (10, 20, 30)
    image[40:50, 75:85] = 255
    target = np.empty((480, 640, 3), np.uint8)
    fit_into(image, target, fit)  # type: ignore[arg-type]
    assert tuple(target[0, 0]) == corner
    ys, xs = np.nonzero((target > 128).all(2))
    assert abs(ys.mean() - 239.5) < 1 and abs(xs.mean() - 319.5) < 1
    assert abs(np.ptp(xs) - np.ptp(ys)) <= 1  # a square stays a square


def test_same_size_is_copied_bit_for_bit() -> None:
    image = np.random.default_rng(1).integers(0, 256, (36, 64, 3), np.uint8)
    target = np.empty_like(image)
    fit_into(image, target)
    assert (target == image).all()
