from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bench import measures


def face(scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(3).uniform(0, 200, (478, 3)) * scale).astype(np.float32)


def test_lengths_do_not_depend_on_the_size_of_the_face() -> None:
    for measure in (measures.mouth_opening, measures.eye_opening):
        assert measure(face()) == pytest.approx(measure(face(3.5)), rel=1e-5)


def test_landmark_error_of_a_shift_is_its_length_over_the_interocular_distance() -> None:
    shifted = face() + np.float32([3, 4, 99])
    assert measures.landmark_error(shifted, face()) == pytest.approx(
        5 / measures.interocular(face()), rel=1e-4
    )


def test_correlation_wants_movement_to_follow() -> None:
    still = [0.1, 0.1001, 0.0999, 0.1]
    assert measures.correlation(still, [0.1, 0.2, 0.3, 0.4], 0.01) is None
    moving = [0.0, 0.2, 0.1, 0.4]
    assert measures.correlation(moving, [0.5 * v + 0.1 for v in moving], 0.01) == pytest.approx(1)
    assert measures.correlation(moving, [-v for v in moving], 0.01) == pytest.approx(-1)
    assert measures.correlation(moving, [0.2] * 4, 0.01) == 0


def test_jitter_is_the_rms_of_the_noise() -> None:
    noise = np.random.default_rng(0).normal(0, 0.3, (400, 478, 3)).astype(np.float32)
    measured = measures.jitter([face() + one for one in noise])
    assert measured == pytest.approx(0.3 * np.sqrt(2) / measures.interocular(face()), rel=0.05)
    assert measures.jitter([face()] * 10) == pytest.approx(0, abs=1e-6)


def test_flicker_forgives_drift_but_not_blinking() -> None:
    assert measures.flicker(list(np.linspace(80, 120, 50))) == pytest.approx(0, abs=1e-9)
    assert measures.flicker([100, 102] * 20) == pytest.approx(2)
    assert measures.flicker([1, 2]) is None


@given(st.lists(st.floats(0.4, 1.2), min_size=1, max_size=30), st.floats(0.05, 0.35), st.floats(-0.5, 1.5))
def test_gap_is_the_share_of_the_way(before: list[float], floor: float, share: float) -> None:
    after = [value - share * (value - floor) for value in before]
    assert measures.gap_closed(before, after, floor) == pytest.approx(share, abs=1e-6)


def test_gap_without_room_or_frames_is_no_figure() -> None:
    assert measures.gap_closed([], [], 0.2) is None
    assert measures.gap_closed([0.2], [0.2], 0.2) is None
