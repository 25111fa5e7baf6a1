"""The watermark bench's own arithmetic, and that its attacks do what their names say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.bench.report import Report
from app.bench.watermark import alarms, jobs, robustness, unmarked, visibility
from app.bench.watermark.attacks import ATTACKS

RANDOM = np.random.default_rng(0)


def squares(number: int) -> list[jobs.Row]:
    return [{"square": number**2}]


def fails(number: int) -> list[jobs.Row]:
    raise AssertionError(f"job {number} was done before")


def test_an_exponential_tail_is_found_again() -> None:
    tail = alarms.fit(list(4 + RANDOM.exponential(0.3, 40_000)))
    assert tail.scale == pytest.approx(0.3, rel=0.1)
    assert tail.rate(7) == pytest.approx(np.exp(-10), rel=0.5)


def test_jobs_that_are_done_are_not_done_again(tmp_path: Path) -> None:
    store, said = tmp_path / "done.jsonl", []
    todo = [jobs.Job(f"job {n}", squares, (n,)) for n in range(3)]
    first = jobs.run(todo, 2, store, said.append)
    assert [rows[0]["square"] for rows in first.values()] == [0, 1, 4]
    assert len(said) == 3
    with store.open("a") as file:
        file.write('{"job": "job 7", "ro')  # it was killed here
    again = [jobs.Job(job.name, fails, job.arguments) for job in todo]
    assert jobs.run(again, 1, store, said.append) == first


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attacks_keep_the_frames(attack: robustness.Attack) -> None:
    picture = RANDOM.integers(0, 256, (520, 301, 3)).astype(np.uint8)
    out = attack.apply([picture] * 5)
    assert len(out) == 5
    assert len({image.shape for image in out}) == 1
    assert all(image.dtype == np.uint8 for image in out)
    assert (attack.name == "none") == all(np.array_equal(image, picture) for image in out)


@pytest.mark.parametrize("kind", unmarked.DRAWN)
def test_unmarked_windows_differ_and_can_be_drawn_again(kind: str) -> None:
    one, two = unmarked.DRAWN[kind](5), unmarked.DRAWN[kind](5)
    first, second = next(one), next(one)
    assert all(np.array_equal(a, b) for a, b in zip(first, next(two), strict=True))
    assert first[0].shape != second[0].shape or not np.array_equal(first[0], second[0])
    assert first[0].std() > 1


def test_a_wrong_payload_and_a_miss_fail_the_check() -> None:
    def row(**changes: object) -> jobs.Row:
        good = {
            "attack": "none",
            "turned": False,
            "z": 30.0,
            "read": True,
            "wrong": 0,
            "clip": "a",
            "height": 720,
        }
        return good | {"short_z": [20.0], "short_read": [True]} | changes

    rows = [row(attack=attack.name, turned=attack.turned) for attack in ATTACKS]
    for changes, passed in (({}, True), ({"read": False}, False), ({"wrong": 1}, False)):
        report = Report("watermark")
        robustness.summarise([*rows, row(**changes)], report)
        assert report.passed is passed


def test_a_lagging_gain_is_seen() -> None:
    flat = np.full((128, 128, 3), 100, np.uint8)
    noisy = np.clip(flat + RANDOM.normal(0, 2, flat.shape), 0, 255).astype(np.uint8)
    assert visibility.spread(flat).max() == 0
    assert visibility.spread_of_difference(noisy, flat).mean() == pytest.approx(2, rel=0.1)
    assert visibility.ssim(flat, flat) == 1 > visibility.ssim(flat, noisy)
