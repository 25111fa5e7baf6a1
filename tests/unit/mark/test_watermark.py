from __future__ import annotations

import itertools
from datetime import date

import cv2
import numpy as np
import pytest
from skimage.data import astronaut
from skimage.metrics import structural_similarity

from engine.mark.pattern import TILE, band, from_symbols, tile, to_symbols
from engine.mark.payload import Payload, model_id
from engine.mark.watermark import PUBLIC_KEY, Watermark

PAYLOAD = Payload(0xABCDEF, model_id("mesh"), (0, 1), date(2026, 11, 30))


def picture(height: int, width: int) -> np.ndarray:
    return cv2.resize(
        np.ascontiguousarray(astronaut()[..., ::-1]), (width, height), interpolation=cv2.INTER_CUBIC
    )


def test_payload_survives_its_bytes() -> None:
    assert Payload.from_bytes(PAYLOAD.to_bytes()) == PAYLOAD


def test_symbols_carry_a_checksum() -> None:
    symbols = to_symbols(PAYLOAD.to_bytes())
    assert from_symbols(symbols) == PAYLOAD.to_bytes()
    for position in range(len(symbols)):
        damaged = list(symbols)
        damaged[position] ^= 0x10
        assert from_symbols(tuple(damaged)) is None


def test_a_wrong_payload_length_is_an_error() -> None:
    with pytest.raises(ValueError, match="7 bytes"):
        to_symbols(b"short")


def test_the_tile_is_band_limited_cyclic_noise() -> None:
    pattern = tile(PUBLIC_KEY, PAYLOAD.to_bytes())
    assert pattern.shape == (TILE, TILE)
    assert abs(float(pattern.mean())) < 1e-3
    assert abs(float(pattern.std()) - 1) < 1e-3
    energy = np.abs(np.fft.fft2(pattern)) ** 2
    assert energy[~band()].sum() < 1e-6 * energy.sum()


def test_keys_and_payloads_give_different_tiles() -> None:
    first = tile(PUBLIC_KEY, PAYLOAD.to_bytes()).ravel()
    other_key = tile(b"another", PAYLOAD.to_bytes()).ravel()
    assert abs(float(np.corrcoef(first, other_key)[0, 1])) < 0.1


@pytest.mark.parametrize("size", [(720, 1280), (359, 479), (1080, 1920), (1, 1), (17, 900), (1364, 720)])
def test_invisible_at_any_size(size: tuple[int, int]) -> None:
    original = picture(*size)
    marked = original.copy()
    watermark = Watermark(PAYLOAD.to_bytes())
    for _ in range(5):
        marked[:] = original
        watermark.apply(marked)
    difference = marked.astype(int) - original.astype(int)
    assert cv2.PSNR(original, marked) >= 42
    assert np.abs(difference).max() <= 12
    if min(size) >= 64:
        assert difference.any()
        similarity = structural_similarity(original, marked, channel_axis=2)
        assert similarity >= 0.985


def test_still_pictures_do_not_flicker() -> None:
    original = picture(720, 1280)
    watermark = Watermark(PAYLOAD.to_bytes())
    outputs = []
    for _ in range(12):
        marked = original.copy()
        watermark.apply(marked)
        outputs.append(marked.astype(int))
    assert max(np.abs(a - b).max() for a, b in itertools.pairwise(outputs[4:])) <= 1


def test_a_wall_that_a_pan_brings_into_view_is_not_left_with_a_strong_pattern() -> None:
    random = np.random.default_rng(0)
    wide = np.full((720, 3000, 3), 120, np.uint8)
    wide[:, :1500] = random.integers(0, 256, (720, 1500, 1))
    watermark = Watermark(PAYLOAD.to_bytes())
    worst = 0.0
    for index in range(40):
        original = np.ascontiguousarray(wide[:, 24 * index : 24 * index + 1280])
        marked = original.copy()
        watermark.apply(marked)
        wall = 1500 - 24 * index + 48  # what has been in view for two frames
        if index >= 12:
            worst = max(worst, float((marked[:, wall:].astype(float) - original[:, wall:]).std()))
    alone = np.full((720, 1280, 3), 120, np.uint8)
    Watermark(PAYLOAD.to_bytes()).apply(alone)
    assert worst < 1.25 * alone.astype(float).std()


@pytest.mark.parametrize("height", [720, 1080, 803])
def test_the_pattern_repeats_with_its_tile(height: int) -> None:
    image = np.full((height, 2400, 3), 120, np.uint8)
    Watermark(PAYLOAD.to_bytes()).apply(image)
    period = TILE * height / 720
    if period == round(period):
        side = round(period)
        assert np.array_equal(image[8:-8, 8 : 800 - 8], image[8:-8, 8 + side : 800 - 8 + side])
    else:
        part = image[8:328, 8:800, 1].astype(np.float32)
        later = cv2.matchTemplate(
            image[:328, round(period) :, 1].astype(np.float32), part, cv2.TM_CCOEFF_NORMED
        )
        assert later[8, 8] > 0.8


def test_black_and_white_pictures_are_marked_without_wrapping() -> None:
    for level in (0, 255):
        marked = np.full((240, 320, 3), level, np.uint8)
        Watermark(PAYLOAD.to_bytes()).apply(marked)
        assert np.abs(marked.astype(int) - level).max() <= 12
        assert (marked != level).any()


def test_two_sizes_may_alternate() -> None:
    watermark = Watermark(PAYLOAD.to_bytes())
    for size in ((120, 160), (240, 320), (120, 160), (64, 64), (120, 160)):
        original = picture(*size)
        marked = original.copy()
        watermark.apply(marked)
        assert cv2.PSNR(original, marked) >= 40
