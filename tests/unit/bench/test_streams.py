from __future__ import annotations

import numpy as np
import pytest

from app.bench.arrivals import NotingSink
from app.bench.latency import limits, summarise
from app.bench.load import answer
from app.bench.soak import delays, growth
from app.bench.stream import Sample, StreamResult
from engine.types import Frame, Image, Output, Shown


def arrivals(count: int = 300, fps: float = 30, delay: float = 40) -> StreamResult:
    period = 1000 / fps
    return StreamResult(
        ids=list(range(count)),
        delays_ms=[delay] * count,
        arrived_ms=[i * period for i in range(count)],
        swapped=[True] * count,
    )


def test_a_perfect_stream_has_no_faults() -> None:
    found = summarise(arrivals())
    assert found is not None
    assert (found.p50, found.p99, found.max) == (40, 40, 40)
    assert (found.drops, found.disorder, found.swapped) == (0, 0, 1)
    assert found.jitter == pytest.approx(0, abs=1e-6)
    assert found.fps == pytest.approx(30, rel=0.01)


def test_every_fault_shows() -> None:
    result = arrivals()
    for place in range(150, 160):  # ten frames lost
        result.ids[place:] = [one + 1 for one in result.ids[place:]]
    result.ids[200], result.ids[201] = result.ids[201], result.ids[200]
    result.delays_ms[210:230] = [150.0] * 20
    result.arrived_ms[250:] = [one + 50 for one in result.arrived_ms[250:]]
    result.swapped[280] = False
    found = summarise(result)
    assert found is not None
    assert found.drops == pytest.approx(10 / 220, rel=0.05)
    assert found.disorder == 1
    assert found.p95 == 150
    assert found.max == 150
    assert found.swapped < 1


def test_the_warm_up_is_not_counted() -> None:
    result = arrivals()
    result.delays_ms[:60] = [900.0] * 60
    found = summarise(result)
    assert found is not None
    assert found.max == 40


def test_a_stream_that_hardly_ran_gives_no_figures() -> None:
    assert summarise(StreamResult()) is None
    assert summarise(arrivals(20)) is None


def test_only_rates_within_reach_are_held_to_no_drops() -> None:
    names = [name for name, _, _ in limits((30, 60))]
    assert "fps30_drops" in names
    assert "fps60_drops" not in names
    assert "fps60_disorder" in names


def samples(slope_mb_per_s: float, noise: float) -> list[Sample]:
    random = np.random.default_rng(5)
    return [Sample(i, 300 + slope_mb_per_s * i + random.normal(0, noise), 9, 20) for i in range(150)]


def test_growth_tells_a_leak_from_noise() -> None:
    percent = 0.01 * 3600 / 300 * 100
    leak = growth(samples(0.01, 0.2))
    assert leak.slope == pytest.approx(percent, rel=0.2)
    assert 5 < leak.low < leak.slope < leak.high
    noise = growth(samples(0, 0.2))
    assert noise.low < 0 < noise.high
    step = growth([Sample(i, 300 + (i > 70), 9, 20) for i in range(150)])
    assert step.low <= 1e-9
    assert step.gained == pytest.approx(100 / 300, rel=0.01)


def test_the_interval_is_not_taken_in_by_samples_that_hardly_change() -> None:
    """A walk without any trend: its samples depend on each other, and the interval must hold 0."""
    random = np.random.default_rng(3)
    held = 0
    for _ in range(100):
        walk = 300 + np.convolve(random.normal(0, 0.1, 950), np.ones(50), "valid")
        found = growth([Sample(i, float(mb), 9, 20) for i, mb in enumerate(walk)])
        held += found.low <= 0 <= found.high
    assert held >= 85


def test_a_delay_that_grows_shows_and_bursts_of_other_work_do_not() -> None:
    result = arrivals(900)
    result.delays_ms = [40 + 0.1 * max(i - 300, 0) for i in range(900)]
    first, last = delays(result, 10)
    assert last > 1.3 * first
    result.delays_ms = [90.0 if 700 < i < 840 else 40.0 for i in range(900)]
    assert delays(result, 10) == (40, 40)


def under_load(after: list[float]) -> StreamResult:
    """Ten quiet seconds at 30 a second, then these delays."""
    result = arrivals(300)
    result.delays_ms += after
    result.arrived_ms += [10_000 + i * 1000 / 30 for i in range(len(after))]
    result.loaded_ms = 10_000
    return result


def test_the_answer_to_a_load_is_the_time_until_the_budget_is_kept_for_good() -> None:
    result = under_load([150.0] * 60 + [70.0] * 540)
    result.moves_ms, result.steps = [10_400.0, 11_000.0, 15_000.0], [2, 3, 4]
    found = answer(result, 100)
    # one frame in twenty may be late: the last few of the bad ones are
    assert found.back_s == pytest.approx(2 - 28 / 30, abs=0.1)
    assert (found.moves, found.step, found.before_ms, found.p95_ms) == (1, 4, 40, 70)
    assert found.fps == pytest.approx(30, rel=0.02)


def test_a_load_that_is_never_mastered_has_no_such_time() -> None:
    assert answer(under_load([150.0] * 600), 100).back_s is None
    assert answer(under_load([150.0, 70.0] * 300), 100).back_s is None
    assert answer(under_load([70.0] * 600), 100).back_s == 0


def picture() -> Image:
    return np.zeros((8, 8, 3), np.uint8)


def test_the_sink_notes_and_does_not_overflow() -> None:
    sink = NotingSink(2)
    for number in range(3):
        sink.write(Output(Frame(number, 5, picture()), picture(), shown=Shown.SWAPPED))
    assert sink.count == 3
    assert sink.ids.tolist() == [0, 1]
    assert sink.swapped.all()
