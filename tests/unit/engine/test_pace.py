from __future__ import annotations

import numpy as np

from engine.live.pace import LIMIT_NS, Pace

MS = 1_000_000


def handed_over(delays_ms: list[float], fps: float = 30.0) -> tuple[np.ndarray, np.ndarray]:
    """Times of hand-over and ages, ms, for pictures that were ready after these delays."""
    pace, times, ages = Pace(), [], []
    for index, delay in enumerate(delays_ms):
        captured = round(index / fps * 1e9)
        ready = captured + round(delay * MS)
        at = ready + pace.wait_ns(captured, ready)
        times.append(at / MS)
        ages.append((at - captured) / MS)
    return np.array(times), np.array(ages)


def test_uneven_work_leaves_evenly() -> None:
    delays = np.random.default_rng(0).uniform(20, 45, 900).tolist()
    times, ages = handed_over(delays)
    before = np.diff(np.arange(900) / 30 * 1000 + delays)
    after = np.diff(times)[60:]
    assert np.quantile(np.abs(before - np.median(before)), 0.99) > 15
    assert np.quantile(np.abs(after - np.median(after)), 0.99) < 5
    assert ages[60:].max() <= 45.001


def test_even_work_does_not_wait() -> None:
    _, ages = handed_over([25.0] * 100)
    assert np.allclose(ages, 25.0)


def test_the_wait_ends_when_the_slow_time_is_over() -> None:
    _, ages = handed_over([50.0] * 10 + [20.0] * 400)
    assert ages[12] > 45
    assert ages[-1] < 21


def test_a_few_slow_pictures_hold_up_no_other() -> None:
    delays = [58.0 if index % 33 == 32 else 20.0 for index in range(900)]
    _, ages = handed_over(delays)
    assert np.median(ages[300:]) < 21
    assert np.quantile(ages[300:], 0.95) < 21


def test_nothing_is_held_beyond_the_limit() -> None:
    _, ages = handed_over([300.0] * 5 + [20.0] * 5)
    assert np.allclose(ages[:5], 300)
    assert ages[5:].max() <= LIMIT_NS / MS
