"""The engine side of a session: the pipeline and its threads, replaced when they hang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.config import SessionConfig
from engine.errors import ModelError
from engine.events import Report
from engine.live.capture import describe
from engine.live.threads import Loop, Threads
from engine.live.watchdog import Backoff, Limit
from engine.live.work import Work
from engine.pipeline import Pipeline, Plan

BuildPipeline = Callable[[Plan, Report], Pipeline]
"""Makes a pipeline with a plan to begin with and a taker of events; warms its models up."""


class Workers:
    """Keeps one `Work` going.

    Args:
        build: makes the pipeline, at the start and after each hang.
        plan: what is swapped; kept over restarts.
        make_work: makes a `Work` around a pipeline, given its number.
        config: overlapped or not, and when it counts as stuck.
        threads: time, and threads to work on.
        report: takes events.
    """

    def __init__(
        self,
        build: BuildPipeline,
        plan: Plan,
        make_work: Callable[[Pipeline, int], Work],
        config: SessionConfig,
        threads: Threads,
        report: Report,
    ) -> None:
        self._build = build
        self._make_work = make_work
        self._overlap = config.overlap
        self._health = health = config.health
        self._threads = threads
        self._report = report
        self._limit = Limit(health.restarts)
        self._backoff = Backoff(health.backoff_s, health.backoff_max_s)
        self._retry_at: int | None = None
        self._rebuilt: list[Pipeline | Exception] = []
        self._rebuilding = False
        self.pipeline = build(plan, report)
        self.work: Work | None = None
        self.loops: tuple[Loop, ...] = ()
        self.number = 0
        self.restarts = 0

    def begin(self) -> None:
        """Start working."""
        self.work = self._make_work(self.pipeline, self.number)
        steps: dict[str, Callable[[], bool]] = {"kawari-engine": self.work.step}
        if self._overlap:
            steps = {"kawari-track": self.work.look_step, "kawari-swap": self.work.make_step}
        self.loops = tuple(self._threads.spawn(name, step) for name, step in steps.items())

    def change(self, **changes: Any) -> None:
        """Change the plan."""
        self.pipeline.change(**changes)

    def step(self) -> Exception | None:
        """Look after the work; the error if it can't be kept going."""
        now = self._threads.now()
        if self._rebuilding:
            return self._check_rebuild(now)
        if self._retry_at is not None:
            if now >= self._retry_at:
                self._retry_at = None
                self._rebuild()
            return None
        why = self._problem(now)
        return self._replace(why, now) if why else None

    def close(self) -> None:
        """Let the threads end."""
        for loop in self.loops:
            loop.stop()
        if self.work is not None:
            self.work.close()

    @property
    def ended(self) -> bool:
        """True once the last frame of the source went through."""
        return self.work is not None and self.work.ended

    @property
    def down(self) -> bool:
        """True while there is nobody working."""
        return self._rebuilding or self._retry_at is not None

    def _problem(self, now: int) -> str:
        if self.work is None:
            return ""
        since = [busy for busy in self.work.busy_ns if busy]
        if since and now - min(since) > self._health.stage_s * 1e9:
            return "stuck"
        return "broken" if any(loop.error for loop in self.loops) else ""

    def _replace(self, why: str, now: int) -> Exception | None:
        error = next((loop.error for loop in self.loops if loop.error), None)
        self.close()
        self.number += 1
        self._report("engine-restart", describe(error), why=why, restarts=self.restarts)
        if not self._limit.allows(now):
            return ModelError(
                "The models hang again and again", "Choose another swapper or a smaller picture"
            )
        self.restarts += 1
        self._retry_at = self._backoff.next_try(now)
        return None

    def _rebuild(self) -> None:
        self._rebuilding = True
        result: list[Pipeline | Exception] = []
        self._rebuilt = result

        def build() -> bool:
            try:
                result.append(self._build(self.pipeline.plan, self._report))
            except Exception as error:  # noqa: BLE001
                result.append(error)
            return False

        self._threads.spawn("kawari-build", build)

    def _check_rebuild(self, now: int) -> Exception | None:
        if not self._rebuilt:
            return None
        self._rebuilding = False
        made = self._rebuilt[0]
        if isinstance(made, Exception):
            self._retry_at = self._backoff.next_try(now)
            return None if self._limit.allows(now) else made
        # Changes made while it was being built are in the old pipeline's plan only.
        plan = self.pipeline.plan
        made.change(**{name: getattr(plan, name) for name in Plan.__dataclass_fields__})
        made.forget_persons()
        self.pipeline = made
        self.begin()
        return None
