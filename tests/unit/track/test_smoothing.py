"""The One-Euro filter: still points rest, moving ones are in time."""

from __future__ import annotations

import numpy as np
import pytest

from engine.track.smoothing import OneEuro, SmoothingOptions
from engine.track.topology import CANONICAL, LIPS_INNER

FACE = (14.0 * CANONICAL + (300, 200, 0)).astype(np.float32)
WIDTH = float(np.ptp(FACE[:, 0]))


def steps(points: list[np.ndarray]) -> float:
    """Mean step between frames over the face's width."""
    change = np.diff(np.array(points), axis=0)[..., :2]
    return float(np.hypot(change[..., 0], change[..., 1]).mean() / WIDTH)


def test_a_still_face_rests() -> None:
    random = np.random.default_rng(3)
    noisy = [FACE + random.normal(0, 0.002 * WIDTH, FACE.shape).astype(np.float32) for _ in range(90)]
    smooth = OneEuro()
    quiet = [smooth(points, WIDTH, i / 30) for i, points in enumerate(noisy)]
    assert steps(quiet[15:]) < 0.3 * steps(noisy[15:])


@pytest.mark.parametrize("fps", [15, 30, 60])
@pytest.mark.parametrize("speed", [0.1, 0.5, 2.0])
def test_a_head_in_steady_motion_is_not_late(fps: int, speed: float) -> None:
    smooth = OneEuro()
    for i in range(fps * 2):
        moved = FACE + np.array([speed * WIDTH * i / fps, 0, 0], np.float32)
        out = smooth(moved, WIDTH, i / fps)
    assert np.abs(out - moved)[:, :2].max() < 0.003 * WIDTH


def test_no_point_is_ever_farther_off_than_stated() -> None:
    random = np.random.default_rng(5)
    smooth, limit = OneEuro(), SmoothingOptions().max_error
    position = np.zeros(3, np.float32)
    for i in range(200):
        position = position + random.normal(0, 0.1 * WIDTH, 3).astype(np.float32) * (i % 20 == 0)
        lips = random.normal(0, 0.02 * WIDTH, FACE.shape).astype(np.float32) * (i % 7 == 0)
        points = FACE + position + lips
        error = smooth(points, WIDTH, i / 30) - points
        assert np.hypot(error[:, 0], error[:, 1]).max() <= limit * WIDTH * 1.001


def test_a_talking_mouth_keeps_its_rhythm_better_than_a_brow_would() -> None:
    opening, brow = LIPS_INNER[11:20], 105
    smooth, measured, lips, brows = OneEuro(), [], [], []
    for i in range(120):
        way = np.float32(0.02 * WIDTH * (1 + np.sin(2 * np.pi * 5 * i / 30)))
        points = FACE.copy()
        points[opening, 1] += way
        points[brow, 1] += way
        out = smooth(points, WIDTH, i / 30)
        measured.append(way)
        lips.append(float((out - FACE)[opening, 1].mean()))
        brows.append(float((out - FACE)[brow, 1]))
    of_lips, of_brows = (float(np.std(np.subtract(one, measured))) for one in (lips, brows))
    assert np.corrcoef(measured, lips)[0, 1] > 0.985
    assert of_lips < 0.7 * of_brows


def test_it_neither_keeps_nor_changes_what_it_is_given() -> None:
    smooth = OneEuro()
    points = FACE.copy()
    for i in range(5):
        smooth(points, WIDTH, i / 30)
    assert (points == FACE).all()


@pytest.mark.parametrize("times", [(0.0, 0.0), (1.0, 0.5), (0.0, 10.0)])
def test_it_starts_afresh_where_time_jumps(times: tuple[float, float]) -> None:
    smooth = OneEuro()
    smooth(FACE, WIDTH, times[0])
    moved = FACE + np.float32(50)
    assert (smooth(moved, WIDTH, times[1]) == moved).all()


def test_reset_forgets() -> None:
    smooth = OneEuro()
    smooth(FACE, WIDTH, 0)
    smooth.reset()
    assert (smooth(FACE + np.float32(9), WIDTH, 1 / 30) == FACE + np.float32(9)).all()
