from __future__ import annotations

import random

import pytest

from engine.controller import Controller
from engine.quality import LADDER

BUDGET = 100.0
COSTS = [1.0, 0.85, 0.7, 0.5, 0.4, 0.35]
"""Cost of each step of the ladder, relative to the best."""


class Load:
    """A simulated engine: newest frame wins, so a slow frame delays only itself and the next."""

    def __init__(self, fps: float = 30.0, seed: int = 1) -> None:
        self.controller = Controller(BUDGET)
        self.now = 0.0
        self.period = 1 / fps
        self.random = random.Random(seed)
        self.delays: list[tuple[float, float]] = []
        self.moves: list[float] = []

    def run(self, seconds: float, cost_ms: float) -> None:
        end = self.now + seconds
        while self.now < end:
            took = cost_ms * COSTS[self.controller.step] * self.random.lognormvariate(0, 0.08) / 1000
            wait = self.random.uniform(0, self.period)
            self.now += max(took, self.period)
            delay = took + (wait if took > self.period else 0)
            self.delays.append((self.now, delay * 1000))
            before = self.controller.moves
            self.controller.observe(int(delay * 1e9), int(self.now * 1e9))
            if self.controller.moves != before:
                self.moves.append(self.now)

    def p95(self, since: float, until: float) -> float:
        values = sorted(ms for at, ms in self.delays if since <= at <= until)
        return values[int(0.95 * len(values))]


@pytest.mark.parametrize("cost", [105, 130, 160, 180])
def test_back_under_the_budget_within_three_seconds(cost):
    load = Load()
    load.run(10, 40)
    assert load.controller.step == 0
    load.run(20, cost)
    assert load.p95(13, 30) <= BUDGET


@pytest.mark.parametrize("cost", [20, 60, 95, 110, 130, 170, 220, 400])
def test_at_most_two_moves_a_minute_at_constant_load(cost):
    load = Load(seed=cost)
    load.run(5, cost)
    settled = len(load.moves)
    load.run(600, cost)
    for start in load.moves[settled:]:
        assert sum(start <= at < start + 60 for at in load.moves) <= 2


def test_quality_returns_when_the_load_is_gone():
    load = Load()
    load.run(10, 200)
    assert load.controller.step >= 2
    load.run(400, 20)
    assert load.controller.step == 0


def test_the_lowest_step_is_the_end():
    load = Load()
    load.run(30, 2000)
    assert load.controller.quality is LADDER[-1]


def test_it_can_be_switched_off():
    controller = Controller(BUDGET, adapt=False)
    assert not any(controller.observe(10**9, i * 10**8) for i in range(100))
