"""A live or file session: one source, the pipeline, any number of sinks.

Threads (all daemons, all named): `kawari-capture` reads the source, `kawari-engine` makes pictures
(or `kawari-track` and `kawari-swap` overlapped), `kawari-sink-NAME` feeds each sink,
`kawari-watchdog` looks after them all, `kawari-events` calls listeners. The states are drawn in
`engine.state.State`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from engine.build import build_pipeline, choice_for
from engine.config import GuardConfig, SessionConfig
from engine.controller import Controller
from engine.dispatch import Dispatch, Route
from engine.errors import DeviceError, UsageError
from engine.events import Event, EventBus
from engine.outlet import Outlet
from engine.pipeline import Marker, Pipeline, Plan
from engine.sinks.base import Sink, StreamInfo
from engine.sources.base import Source
from engine.state import FinishReason, State, StateMachine
from engine.stats import Stats
from engine.supply import SourceGiver, Supply
from engine.swap.base import Swapper
from engine.threads import Loop, join_all
from engine.track.base import Choice
from engine.types import Frame, Output, Shown
from engine.work import Work
from engine.workers import BuildPipeline, Workers

_TICK_S = 0.02
_START_S = 15.0
"""Longest time that opening the source, or all sinks, may take."""


class Session:
    """Runs until it is stopped, the source ends, or it can't be kept running.

    Use it with `with`, which starts and stops it, or call `start` and `stop`. All methods may be
    called from any thread.

    Args:
        config: its settings.
        source: where frames come from, or a function that makes the source (then a source that
            hangs for good can be replaced).
        sinks: where pictures go: sinks, or `Route`s that say how.
        identity: what `prepare` of the swapper gave; without one every wanted face stays covered.
        choice: which faces are swapped; by default what `config.swap.who` says.
        swapper: the one that prepared the identity; by default made from `config.swap.swapper`.
        marker: marks every picture.
        build: makes the pipeline; by default `engine.build.build_pipeline`.
        now: monotonic clock, ns.
    """

    def __init__(
        self,
        config: SessionConfig,
        source: Source | SourceGiver,
        sinks: Sequence[Sink | Route] = (),
        *,
        identity: object | None = None,
        choice: Choice | None = None,
        swapper: Swapper[Any] | None = None,
        marker: Marker | None = None,
        build: BuildPipeline | None = None,
        now: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.config = config
        self.error: Exception | None = None
        """Why it failed; None if it did not."""
        self._now = now
        self._source = source
        self._routes = [one if isinstance(one, Route) else Route(one) for one in sinks]
        self._build = build or build_pipeline(config.swap, marker, swapper)
        self._plan = _first_plan(config, identity, choice)
        self._bus = EventBus(now)
        self._machine = StateMachine(self._state_changed)
        self._reason: FinishReason | None = None
        self._lock = threading.RLock()
        self._ending = threading.Lock()
        self._loops: list[Loop] = []
        self._abandoned: tuple[str, ...] = ()
        self._draining = False
        self._began = now()
        self._controller = Controller(config.delay.budget_ms, config.delay.adapt)
        self._outlet = Outlet(now, self._covered)
        self._dispatch = Dispatch(self._outlet, config.health, now, self._bus.report, self._spawn)
        self._supply: Supply | None = None
        self._workers: Workers | None = None
        self._watchdog: Loop | None = None

    # --- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Open everything and run.

        Raises:
            KawariError: the source, a sink or a model can't be opened; everything is closed again.
            UsageError: it was started before.
        """
        if not self._machine.move(State.STARTING):
            raise UsageError("This session was started before", "Make a new one")
        try:
            self._open()
        except BaseException as error:
            self.error = error if isinstance(error, Exception) else None
            self._finish(FinishReason.FAILED, drain=False, timeout=self.config.health.stop_s)
            raise
        self._machine.move(State.RUNNING)
        self._watchdog = self._spawn("kawari-watchdog", self._watch)

    def stop(self, timeout: float | None = None) -> None:
        """Stop in order: source, engine, sinks. Returns within a second whatever hangs.

        Args:
            timeout: how long to wait for threads in all, seconds; `config.health.stop_s` if None.
                A recorder may need longer to finish its file; it goes on in its own thread.
        """
        self._finish(FinishReason.STOPPED, drain=False, timeout=timeout or self.config.health.stop_s)

    def wait(self, timeout: float | None = None) -> FinishReason | None:
        """Wait until it has finished; why it did, None if the time is over first."""
        if not self._machine.wait_for(State.FINISHED, timeout):
            return None
        if self._watchdog is not None:
            self._watchdog.join(self.config.health.stop_s)
        return self._reason

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # --- what it tells ---------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """What it is doing."""
        return self._machine.state

    @property
    def reason(self) -> FinishReason | None:
        """Why it finished; None while it has not."""
        return self._reason

    @property
    def swapper(self) -> Any:
        """The running swapper, to `prepare` identities with; `DeviceError` before the start."""
        return self._running()[1].pipeline.swapper

    def events(self) -> Iterator[Event]:
        """Events from now until the session finishes."""
        return self._bus.events()

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call `callback` with each event on the session's event thread; the result ends it."""
        return self._bus.subscribe(callback)

    def stats(self) -> Stats:
        """A snapshot of all figures."""
        with self._lock:
            supply, workers, outlet = self._supply, self._workers, self._outlet
            work = workers.work if workers else None
            last = work.last if work else None
            drops = dict(work.drops) if work else {}
            drops |= {"newer": supply.frames.dropped if supply else 0, "order": outlet.out_of_order}
            drops["corrupt"] = supply.counts["corrupt"] + supply.capture.corrupt if supply else 0
            return Stats(
                state=self.state.value,
                reason=self._reason.value if self._reason else "",
                seconds=(self._now() - self._began) / 1e9,
                frames_in=supply.capture.frames if supply else 0,
                frames_out=work.made if work else 0,
                fps=outlet.rate.per_second(self._now()),
                delay=outlet.delay.percentiles(),
                stages={name: one.percentiles() for name, one in work.stages.copy().items()} if work else {},
                drops=drops,
                faces=len(last.faces) if last else 0,
                swapped=len(last.swapped) if last else 0,
                shown=outlet.last.shown.value if outlet.last else "",
                guard=dict(work.actions) if work else {},
                errors=dict(workers.pipeline.errors) if workers else {},
                quality=self._controller.quality.name,
                quality_step=self._controller.step,
                quality_moves=self._controller.moves,
                restarts={
                    "source": supply.restarts if supply else 0,
                    "engine": workers.restarts if workers else 0,
                    "sinks": self._dispatch.restarts,
                },
                sinks=self._dispatch.stats(),
                panic=outlet.in_panic,
                abandoned=self._abandoned,
            )

    # --- controls --------------------------------------------------------------------------------

    def set_identity(self, identity: object, name: str = "") -> None:
        """Swap with this prepared identity from the next frame on; `name` as the choice gives it."""
        with self._lock:
            self._change(identities={**self._plan.identities, name: identity})

    def set_strength(self, strength: float) -> None:
        """See `SwapConfig.strength`."""
        with self._lock:
            self._change(strength=replace(self.config.swap, strength=strength).strength)

    def set_choice(self, choice: Choice, *, strict: bool = True) -> None:
        """Swap other faces; `strict` if every face that may appear would be wanted, too."""
        with self._lock:
            self._change(choice=choice, strict=strict)

    def set_guard(self, guard: GuardConfig) -> None:
        """Change what leaves instead of an unswapped face."""
        with self._lock:
            self._change(guard=guard)

    def panic(self, on: bool = True) -> None:
        """Cover everything at once, and keep it covered until it is released."""
        self._outlet.panic(on)
        self._bus.report("panic", on=on)
        with self._lock:
            self._change(panic=on)
            if on and self._supply is not None and self._supply.info is not None and self._is_live:
                self._emit_card("panic")

    def add_sink(self, sink: Sink | Route) -> None:
        """Feed one more sink.

        Raises:
            KawariError: it can't be opened; the others go on.
        """
        route = sink if isinstance(sink, Route) else Route(sink)
        with self._lock:
            supply, _ = self._running()
            delivery = self._dispatch.add(route, _stream(supply))
        self._wait_opened(lambda: delivery.opened or delivery.error is not None)
        if not delivery.opened:
            self.remove_sink(route.sink)
            raise delivery.error or DeviceError(f"{route.sink.name} does not answer")

    def remove_sink(self, sink: Sink) -> None:
        """Close a sink; returns when it has, at the latest after `stop_s`."""
        with self._lock:
            loop = self._dispatch.remove(sink)
        if loop is not None:
            loop.join(self.config.health.stop_s)

    def switch_source(self, source: Source | SourceGiver) -> None:
        """Go over to another source; only a card leaves until its first safe picture.

        A live source can only be replaced by a live one.
        """
        with self._lock:
            supply, workers = self._running()
            supply.switch(source)
            self._outlet.admit((supply.epoch, workers.number))
            self._machine.move(State.RECOVERING)
            if self._is_live:
                self._emit_card("starting")

    # --- inside ----------------------------------------------------------------------------------

    def _spawn(self, name: str, step: Callable[[], bool]) -> Loop:
        loop = Loop(name, step)
        self._loops = [one for one in self._loops if one.alive] + [loop]
        loop.start()
        return loop

    @property
    def _is_live(self) -> bool:
        return self._supply is not None and self._supply.info is not None and self._supply.info.live

    def _running(self) -> tuple[Supply, Workers]:
        if self._supply is None or self._workers is None or self._supply.info is None:
            raise UsageError("The session does not run", "Start it first")
        return self._supply, self._workers

    def _open(self) -> None:
        """Open the source while the models load, then the sinks, then let frames flow."""
        config, report = self.config, self._bus.report
        self._supply = supply = Supply(self._source, config.health, self._now, report, self._spawn)
        self._workers = workers = Workers(
            self._build, self._plan, self._make_work, config.overlap, config.health,
            self._now, report, self._spawn,
        )  # fmt: skip
        capture = supply.capture
        self._wait_opened(lambda: capture.info is not None or capture.error is not None)
        if capture.info is None:
            raise capture.error or DeviceError("The source does not open", "Unplug it and try again")
        supply.info = capture.info
        deliveries = [self._dispatch.add(route, _stream(supply)) for route in self._routes]
        self._wait_opened(lambda: all(one.opened or one.error is not None for one in deliveries))
        for one in deliveries:
            if not one.opened:
                raise one.error or DeviceError(f"{one.sink.name} does not answer")
        workers.change(**{name: getattr(self._plan, name) for name in Plan.__dataclass_fields__})
        self._outlet.admit((supply.epoch, workers.number))
        supply.begin(capture.info)
        workers.begin()

    def _wait_opened(self, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _START_S
        while not ready() and time.monotonic() < deadline:
            if self.state in (State.STOPPING, State.FINISHED):
                raise UsageError("The session was stopped while it started")
            time.sleep(0.002)

    def _make_work(self, pipeline: Pipeline, number: int) -> Work:
        assert self._supply is not None
        return Work(
            pipeline, self._supply.frames, self._outlet, number, self.config.delay, self._controller,
            self._is_live, self._now, self._bus.report,
        )  # fmt: skip

    def _watch(self) -> bool:
        time.sleep(_TICK_S)
        return self.watch_once()

    def watch_once(self) -> bool:
        """One round of the watchdog; False when the session has finished."""
        with self._lock:
            supply, workers = self._running()
            self._dispatch.step()
            if self._draining:
                if not self._dispatch.drained():
                    return True
                reason: FinishReason | None = FinishReason.ENDED
            else:
                error = supply.step() or workers.step()
                self._outlet.admit((supply.epoch, workers.number))
                self._follow_state(supply, workers)
                self._fill_gap(supply, workers)
                reason = self._check_end(error, workers)
        if reason is None:
            return True
        self._finish(reason, drain=True, timeout=self.config.health.stop_s)
        return False

    def _check_end(self, error: Exception | None, workers: Workers) -> FinishReason | None:
        if error is not None:
            self.error = error
            return FinishReason.FAILED
        if workers.work is not None and workers.work.ended:
            self._draining = True
            self._dispatch.close(drain=True)
        return None

    def _follow_state(self, supply: Supply, workers: Workers) -> None:
        down = supply.lost or workers.down
        self._machine.move(State.RECOVERING if down else State.RUNNING)

    def _fill_gap(self, supply: Supply, workers: Workers) -> None:
        """While nothing else leaves, a card does."""
        if not self._is_live:
            return
        health = self.config.health
        quiet_s = (self._now() - self._outlet.last_ns) / 1e9
        last = self._outlet.last
        in_gap = last is not None and last.reason in ("camera-lost", "overload", "starting")
        if quiet_s < (1 / health.card_fps if in_gap or supply.lost else health.stall_s):
            return
        self._emit_card("camera-lost" if supply.lost else "overload")

    def _emit_card(self, reason: str) -> None:
        supply, workers = self._running()
        assert supply.info is not None
        image = workers.pipeline.cards.get(reason, supply.info.width, supply.info.height)
        last = self._outlet.last
        frame = Frame(last.frame.id if last else 0, self._now(), image)
        self._outlet.emit(Output(frame, image, shown=Shown.COVERED, reason=reason), None)

    def _covered(self, output: Output) -> Output:
        assert self._workers is not None
        height, width = output.image.shape[:2]
        card = self._workers.pipeline.cards.get("panic", width, height)
        return replace(output, image=card, swapped=(), shown=Shown.COVERED, reason="panic")

    def _change(self, **changes: Any) -> None:
        self._plan = replace(self._plan, **changes)
        if self._workers is not None:
            self._workers.change(**changes)

    def _finish(self, reason: FinishReason, *, drain: bool, timeout: float) -> None:
        """The one way to the end; later callers wait for the first."""
        if not self._ending.acquire(blocking=False):
            self._machine.wait_for(State.FINISHED, timeout + 0.2)
            return
        if self.state is State.FINISHED:
            self._ending.release()
            return
        self._machine.move(State.STOPPING)
        deadline = time.monotonic() + timeout
        if self._watchdog is not None:
            self._watchdog.stop()
        self._outlet.admit((-1, -1))
        if self._supply is not None:
            self._supply.close()
        if self._workers is not None:
            self._workers.close()
        self._dispatch.close(drain)
        self._abandoned = join_all(list(self._loops), deadline - time.monotonic())
        if self._abandoned:
            self._bus.report("abandoned", count=len(self._abandoned), threads=" ".join(self._abandoned))
        self._reason = reason
        self._machine.move(State.FINISHED)
        self._bus.close(0.1)

    def _state_changed(self, state: State) -> None:
        finished = self._reason if state is State.FINISHED else None
        self._bus.report("state", state=state.value, reason=finished.value if finished else "")


def _first_plan(config: SessionConfig, identity: object | None, choice: Choice | None) -> Plan:
    chosen, strict = (choice, True) if choice is not None else choice_for(config.swap.who)
    identities = {} if identity is None else {"": identity}
    return Plan(identities, chosen, config.swap.strength, config.guard, strict=strict)


def _stream(supply: Supply) -> StreamInfo:
    info = supply.info
    assert info is not None
    return StreamInfo(info.width, info.height, info.fps, info.live)
