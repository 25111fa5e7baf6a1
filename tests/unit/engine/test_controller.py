from __future__ import annotations

import random

import pytest

from engine.config import DelayConfig, GuardPolicy
from engine.live.controller import Controller
from engine.quality import LADDER
from tests.drama import Drama
from tests.scripted import ScriptedSwap, ScriptedSwapper
from tests.simulation import SimThreads

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


def test_single_late_frames_cost_no_quality():
    controller = Controller(BUDGET)
    for i in range(30 * 60):
        delay = 140 if i % 45 == 0 else 30
        assert not controller.observe(delay * 1_000_000, i * 33_000_000)
    assert controller.step == 0


def test_the_first_frames_are_not_judged():
    controller = Controller(BUDGET)
    assert not any(controller.observe(300_000_000, i * 33_000_000) for i in range(30))


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


class CostlySwap(ScriptedSwap):
    """Takes the time that its step of the ladder costs."""

    def __init__(self, drama: Drama, threads: SimThreads) -> None:
        super().__init__(drama.script)
        self.drama, self.threads = drama, threads
        self.quality = LADDER[0]

    def patch(self, image, face, strength):
        self.threads.sleep(self.drama.cost_ms * COSTS[LADDER.index(self.quality)] / 1000)
        return super().patch(image, face, strength)


def test_a_session_comes_back_under_its_budget():
    """The real session in simulated time, with a swapper whose cost changes while it runs."""
    drama = Drama(1, [], GuardPolicy.HOLD, DelayConfig(budget_ms=100, hard_ms=200))
    drama.cost_ms = 15.0
    swapper = ScriptedSwapper(drama.script)
    swapper.follow = lambda identity: CostlySwap(drama, drama.threads)
    drama.swapper = swapper
    late: list[tuple[float, float]] = []
    write = drama.sink.check
    drama.sink.check = lambda output: (
        late.append((drama.seconds, (drama.threads.now() - output.frame.captured_ns) / 1e6)),
        write(output),
    )[1]
    drama.session.start()
    drama.threads.sleep(3)
    assert drama.session.stats().quality_step == 0
    drama.cost_ms = 130.0
    drama.threads.sleep(20)
    stats = drama.session.stats()
    drama.session.stop()
    after = sorted(ms for at, ms in late if at > 6)
    assert after[int(0.95 * len(after))] <= 100
    assert stats.quality_step > 0 and stats.quality_moves <= 4
    assert drama.problems == []
