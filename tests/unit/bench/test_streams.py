from __future__ import annotations

import numpy as np
import pytest

from app.bench.arrivals import NotingSink
from app.bench.latency import limits, summarise
from app.bench.soak import growth
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
    leak, leak_low = growth(samples(0.01, 0.2))
    assert leak == pytest.approx(0.01 * 3600 / 300 * 100, rel=0.2)
    assert leak_low > 5
    _, noise_low = growth(samples(0, 0.2))
    assert noise_low <= 1
    step = [Sample(i, 300 + (i > 70), 9, 20) for i in range(150)]
    assert growth(step)[1] <= 1e-9


def picture() -> Image:
    return np.zeros((8, 8, 3), np.uint8)


def test_the_sink_notes_and_does_not_overflow() -> None:
    sink = NotingSink(2)
    for number in range(3):
        sink.write(Output(Frame(number, 5, picture()), picture(), shown=Shown.SWAPPED))
    assert sink.count == 3
    assert sink.ids.tolist() == [0, 1]
    assert sink.swapped.all()
