"""The sink side of a session: deliveries and their threads, given up when they hang."""

from __future__ import annotations

from dataclasses import dataclass

from engine.buffers import Policy
from engine.config import HealthConfig
from engine.errors import DeviceError
from engine.events import Report
from engine.live.capture import describe
from engine.live.delivery import Delivery, SinkStats
from engine.live.outlet import Outlet
from engine.live.threads import Loop, Threads
from engine.live.watchdog import Backoff, Limit
from engine.sinks.base import Sink, StreamInfo


@dataclass(frozen=True, slots=True)
class Route:
    """How pictures get to a sink.

    Attributes:
        sink: where they go.
        policy: what a full queue does; None for DROP_OLDEST in a live session and BLOCK for a file.
        size: pictures that may wait; None for 2 and 4.
        restart: open it again after it failed (a virtual camera), instead of giving it up (a
            recorder, whose file would be written over).
    """

    sink: Sink
    policy: Policy | None = None
    size: int | None = None
    restart: bool = False


@dataclass(slots=True)
class _Line:
    route: Route
    delivery: Delivery
    loop: Loop
    backoff: Backoff
    limit: Limit
    retry_at: int | None = None
    told: bool = False
    given_up: bool = False


class Dispatch:
    """Keeps the sinks going. Called under the session's lock."""

    def __init__(
        self,
        outlet: Outlet,
        health: HealthConfig,
        threads: Threads,
        report: Report,
    ) -> None:
        self._outlet = outlet
        self._health = health
        self._threads = threads
        self._report = report
        self._lines: list[_Line] = []
        self.restarts = 0

    def add(self, route: Route, stream: StreamInfo) -> Delivery:
        """Start a sink's thread, which opens it; it gets pictures once it is open."""
        health = self._health
        delivery = self._delivery(route, stream)
        loop = self._threads.spawn(f"kawari-sink-{route.sink.name}", delivery.step)
        backoff = Backoff(health.backoff_s, health.backoff_max_s)
        self._lines.append(_Line(route, delivery, loop, backoff, Limit(health.restarts)))
        return delivery

    def remove(self, sink: Sink) -> Loop | None:
        """Stop feeding a sink and let it close; its loop, or None if it is unknown."""
        for line in self._lines:
            if line.route.sink is sink:
                self._lines.remove(line)
                self._outlet.remove(line.delivery)
                line.delivery.queue.close()
                return line.loop
        return None

    def step(self) -> None:
        """Look after every sink."""
        now = self._threads.now()
        for line in self._lines:
            delivery = line.delivery
            if line.retry_at is not None:
                if now >= line.retry_at and not line.loop.alive:
                    self._reopen(line)
                continue
            if line.given_up:
                continue
            stuck = delivery.busy_ns and now - delivery.busy_ns > self._health.sink_s * 1e9
            if stuck:
                delivery.error = DeviceError(f"{line.route.sink.name} does not answer")
            if delivery.error is not None or line.loop.error is not None:
                self._lose(line, now, bool(stuck))

    @property
    def failure(self) -> Exception | None:
        """Why a sink was given up; None if none was."""
        return next((line.delivery.error for line in self._lines if line.given_up), None)

    def drained(self) -> bool:
        """True when every sink that still works has closed."""
        return all(line.given_up or not line.loop.alive for line in self._lines)

    def close(self, drain: bool) -> tuple[Loop, ...]:
        """Let every sink finish: with what waits in its queue, or (live) without."""
        for line in self._lines:
            self._outlet.remove(line.delivery)
            if not drain and line.delivery.policy is Policy.DROP_OLDEST:
                line.delivery.queue.clear()
            line.delivery.queue.close()
        return tuple(line.loop for line in self._lines)

    def stats(self) -> tuple[SinkStats, ...]:
        """Figures of all sinks."""
        return tuple(line.delivery.stats() for line in self._lines)

    def _delivery(self, route: Route, stream: StreamInfo) -> Delivery:
        policy = route.policy or (Policy.DROP_OLDEST if stream.live else Policy.BLOCK)
        size = route.size or (2 if stream.live else 4)
        outlet = self._outlet
        delivery = Delivery(route.sink, stream, policy, size, self._threads, outlet.last_check)
        outlet.add(delivery)
        return delivery

    def _lose(self, line: _Line, now: int, stuck: bool) -> None:
        delivery = line.delivery
        self._outlet.remove(delivery)
        delivery.queue.close()
        error = delivery.error or line.loop.error
        sink = line.route.sink.name
        message = f"{sink}: {describe(error)}"
        self._report("sink-failed", message, sink=sink, error=type(error).__name__, stuck=stuck)
        if line.route.restart and line.limit.allows(now):
            line.retry_at = line.backoff.next_try(now)
        else:
            line.given_up = True

    def _reopen(self, line: _Line) -> None:
        line.retry_at = None
        self.restarts += 1
        old = line.delivery
        line.delivery = self._delivery(line.route, old.stream)
        line.delivery.inherit(old)
        line.loop = self._threads.spawn(f"kawari-sink-{line.route.sink.name}", line.delivery.step)
        self._report("sink-restart", restarts=self.restarts)
