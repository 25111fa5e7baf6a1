from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import cv2
import numpy as np
import pytest

from engine.config import BadgeConfig, BadgeStyle, Corner
from engine.mark.badge import Badge
from engine.mark.detector import Detector, Verdict
from engine.mark.install import install_id, reset_install_id
from engine.mark.marker import Marker, make_marker
from engine.mark.payload import Payload, model_id


def picture(level: int = 128, size: tuple[int, int] = (720, 1280)) -> np.ndarray:
    random = np.random.default_rng(0)
    return np.clip(random.normal(level, 6, (*size, 3)), 0, 255).astype(np.uint8)


def test_the_install_id_is_kept_and_can_be_reset(tmp_path: Path) -> None:
    first = install_id(tmp_path)
    assert install_id(tmp_path) == first
    assert 0 <= first < 1 << 24
    assert any(reset_install_id(tmp_path) != first for _ in range(3))
    assert (tmp_path / "watermark.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"install": "x"}', '{"install": -1}', "\x00"])
def test_a_damaged_file_gives_a_new_id(tmp_path: Path, text: str) -> None:
    (tmp_path / "watermark.json").write_text(text)
    drawn = install_id(tmp_path)
    assert json.loads((tmp_path / "watermark.json").read_text())["install"] == drawn


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert 0 <= install_id(tmp_path / "file") < 1 << 24


@pytest.mark.parametrize("corner", Corner)
@pytest.mark.parametrize("style", BadgeStyle)
@pytest.mark.parametrize("level", [0, 128, 255])
def test_the_badge_can_be_read_on_any_ground(corner: Corner, style: BadgeStyle, level: int) -> None:
    image = np.full((720, 1280, 3), level, np.uint8)
    Badge(BadgeConfig(place=corner, style=style)).apply(image)
    rows, columns = np.nonzero((image != level).any(2))
    assert rows.size
    y, x = rows.mean() / 720, columns.mean() / 1280
    assert (y < 0.5) == corner.value.startswith("top")
    assert (x < 0.5) == corner.value.endswith("left")
    region = image[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    linear = (region.astype(float).mean(2) / 255) ** 2.2
    # The ground fills most of it, the ink some per cent: the end of the scale that is not the ground's.
    ground, ink = np.median(linear), np.quantile(linear, 0.02 if style is BadgeStyle.LIGHT else 0.98)
    assert (max(ground, ink) + 0.05) / (min(ground, ink) + 0.05) > 4.5


def test_the_badge_may_be_changed_and_taken_off_while_it_is_drawn() -> None:
    badge, plain = Badge(), np.full((720, 1280, 3), 128, np.uint8)

    def drawn() -> np.ndarray:
        image = plain.copy()
        badge.apply(image)
        return image

    right = drawn()
    badge.config = BadgeConfig(place=Corner.BOTTOM_LEFT)
    left = drawn()
    assert np.array_equal(right[:360], plain[:360]) is False
    assert np.array_equal(left[:360], plain[:360])
    badge.config = BadgeConfig(shown=False)
    assert np.array_equal(drawn(), plain)
    badge.config = BadgeConfig()
    assert np.array_equal(drawn(), right)


@pytest.mark.parametrize("size", [(1, 1), (20, 400), (30, 30)])
def test_pictures_too_small_for_a_badge_are_left_alone(size: tuple[int, int]) -> None:
    image = picture(size=size)
    before = image.copy()
    Badge().apply(image)
    assert np.array_equal(image, before)


def test_badge_then_watermark_and_both_are_found() -> None:
    payload = Payload(7, model_id("mesh"), (0, 1), date(2026, 11, 30))
    marker, detector = Marker(payload, Badge()), Detector()
    for _ in range(20):
        image = picture()
        marker.apply(image)
        detector.feed(image)
    finding = detector.find()
    assert (finding.verdict, finding.payload) == (Verdict.PRESENT, payload)
    assert image[40:60, 1180:1240].min() < 60


def test_the_marker_of_a_stream_names_its_swapper(tmp_path: Path) -> None:
    marker = make_marker(tmp_path, "mesh", None)
    assert marker.payload.model == model_id("mesh") != model_id("inswapper_128")
    assert marker.payload.install == install_id(tmp_path)


def test_a_sudden_flat_scene_does_not_show_the_pattern_of_the_last() -> None:
    marker = Marker(Payload(7, 1, (0, 1), date(2026, 11, 30)), None)
    busy = np.random.default_rng(1).integers(0, 256, (720, 1280, 3)).astype(np.uint8)
    flat = np.full((720, 1280, 3), 128, np.uint8)
    for _ in range(12):
        marker.apply(busy.copy())
    for _ in range(8):
        image = flat.copy()
        marker.apply(image)
    fresh = flat.copy()
    Marker(Payload(7, 1, (0, 1), date(2026, 11, 30)), None).apply(fresh)
    assert cv2.PSNR(image, flat) >= cv2.PSNR(fresh, flat) - 0.5
