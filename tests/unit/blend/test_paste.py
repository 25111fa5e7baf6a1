from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.blend.paste import paste
from engine.types import Image, Patch


def noise(height: int, width: int, seed: int = 0) -> Image:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


@given(x=st.integers(-60, 120), y=st.integers(-60, 90), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_zero_keeps_and_full_replaces_bit_for_bit_wherever_the_patch_lies(x: int, y: int, seed: int) -> None:
    frame, picture = noise(80, 110, seed), noise(40, 50, seed + 1)
    mask = np.random.default_rng(seed).choice(np.array([0, 128, 255], np.uint8), (40, 50))
    expected_mask = np.zeros((80, 110), np.uint8)
    expected = frame.copy()
    for row in range(40):
        for column in range(50):
            if 0 <= y + row < 80 and 0 <= x + column < 110:
                expected_mask[y + row, x + column] = mask[row, column]
                if mask[row, column] == 255:
                    expected[y + row, x + column] = picture[row, column]
    out = frame.copy()
    paste(out, Patch.at(picture, mask, x, y))
    settled = expected_mask != 128
    np.testing.assert_array_equal(out[settled], expected[settled])


def test_half_a_mask_is_half_of_each() -> None:
    frame = np.full((20, 20, 3), 40, np.uint8)
    paste(frame, Patch.at(np.full((20, 20, 3), 200, np.uint8), np.full((20, 20), 128, np.uint8), 0, 0))
    assert abs(int(frame[10, 10, 0]) - 120) <= 1


def test_affine_patch_lands_where_its_matrix_says() -> None:
    frame = np.zeros((200, 200, 3), np.uint8)
    picture = np.full((32, 32, 3), 255, np.uint8)
    mask = np.full((32, 32), 255, np.uint8)
    matrix = np.array([[2.0, 0, 60], [0, 2.0, 40]])
    paste(frame, Patch(picture, mask, matrix))
    rows, columns = np.nonzero(frame[..., 0] > 127)
    assert abs(columns.min() - 60) <= 1
    assert abs(columns.max() - (60 + 62)) <= 1
    assert abs(rows.min() - 40) <= 1
    assert abs(rows.max() - (40 + 62)) <= 1
    untouched = frame.copy()
    untouched[36:106, 56:126] = 0
    assert not untouched.any()


@pytest.mark.parametrize("shift", [(-500, 0), (0, 500), (300, 300)])
def test_patches_outside_change_nothing(shift: tuple[int, int]) -> None:
    frame = noise(60, 60)
    before = frame.copy()
    full = np.full((20, 20), 255, np.uint8)
    paste(frame, Patch.at(noise(20, 20, 1), full, *shift))
    paste(frame, Patch(noise(20, 20, 1), full, np.array([[1.5, 0.2, shift[0]], [-0.2, 1.5, shift[1]]])))
    np.testing.assert_array_equal(frame, before)
