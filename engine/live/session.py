"""A session: one source, the pipeline, any number of sinks, live or from a file.

Threads (all daemons, all named): `kawari-capture` reads the source, `kawari-engine` makes pictures
(or `kawari-track` and `kawari-swap` overlapped), `kawari-sink-NAME` feeds each sink,
`kawari-watchdog` looks after them all, `kawari-events` calls listeners. The states are drawn in
`engine.live.state.State`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from engine.build import build_pipeline, choice_for
from engine.config import GuardConfig, SessionConfig
from engine.errors import UsageError
from engine.events import Event, EventBus
from engine.live.dispatch import Route
from engine.live.running import Running, raise_unless_open
from engine.live.state import FinishReason, State, StateMachine
from engine.live.stats import Stats
from engine.live.supply import SourceGiver
from engine.live.threads import Loop, RealThreads, Threads
from engine.live.workers import BuildPipeline
from engine.marking import Marker
from engine.pipeline import Plan
from engine.sinks.base import Sink
from engine.sources.base import Source
from engine.swap.base import Swapper
from engine.track.choice import FaceChoice
from engine.types import Image

_TICK_S = 0.02


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
        picture: what `GuardPolicy.PICTURE` shows, uint8, H×W×3, BGR.
        build: makes the pipeline; by default `engine.build.build_pipeline`.
        threads: time and threads; only tests give others.
    """

    def __init__(
        self,
        config: SessionConfig,
        source: Source | SourceGiver,
        sinks: Sequence[Sink | Route] = (),
        *,
        identity: object | None = None,
        choice: FaceChoice | None = None,
        swapper: Swapper[Any] | None = None,
        marker: Marker | None = None,
        picture: Image | None = None,
        build: BuildPipeline | None = None,
        threads: Threads | None = None,
    ) -> None:
        self.config = config
        self.error: Exception | None = None
        """Why it failed; None if it did not."""
        self._threads = threads or RealThreads()
        self._source = source
        self._routes = [_route(one) for one in sinks]
        self._build = build or build_pipeline(config.swap, marker, swapper, picture)
        self._plan = _first_plan(config, identity, choice)
        self._bus = EventBus(self._threads.now)
        self._machine = StateMachine(self._state_changed)
        self._reason: FinishReason | None = None
        self._lock = threading.RLock()
        self._ending = threading.Lock()
        self._abandoned: tuple[str, ...] = ()
        self._running: Running | None = None
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
            running = Running(
                self.config, self._source, self._build, self._plan, self._threads, self._bus.report
            )
            with self._lock:
                self._running = running
            running.open(self._routes, self._check_stopped)
        except Exception as error:
            self.error = error
            self._finish(FinishReason.FAILED, drain=False)
            raise
        with self._lock:
            self._change(**{name: getattr(self._plan, name) for name in Plan.__dataclass_fields__})
        if self._machine.move(State.RUNNING):
            self._watchdog = self._threads.spawn("kawari-watchdog", self._watch)

    def stop(self, timeout: float | None = None) -> None:
        """Stop in order: source, engine, sinks. Returns within a second whatever hangs.

        Args:
            timeout: how long to wait for threads in all, seconds; `config.health.stop_s` if None.
                A recorder may need longer to finish its file; it goes on in its own thread.
        """
        self._finish(FinishReason.STOPPED, drain=False, timeout=timeout)

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

    def events(self) -> Iterator[Event]:
        """Events from now until the session finishes."""
        return self._bus.events()

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call `callback` with each event on the session's event thread; the result ends it."""
        return self._bus.subscribe(callback)

    def stats(self) -> Stats:
        """A snapshot of all figures; empty ones before the start."""
        with self._lock:
            found = Stats() if self._running is None else self._running.stats()
        reason = self._reason.value if self._reason else ""
        return replace(found, state=self.state.value, reason=reason, abandoned=self._abandoned)

    # --- controls --------------------------------------------------------------------------------

    def set_identity(self, identity: object, source: int = 0) -> None:
        """Swap with this prepared identity from the next frame on; `source` as in `FaceChoice`."""
        with self._lock:
            self._change(identities={**self._plan.identities, source: identity})

    def set_strength(self, strength: float) -> None:
        """See `SwapConfig.strength`; raises `UsageError` outside its limits."""
        with self._lock:
            self._change(strength=replace(self.config.swap, strength=strength).strength)

    def set_choice(self, choice: FaceChoice) -> None:
        """Swap other faces, or other faces with other sources."""
        with self._lock:
            self._change(choice=choice)

    def set_guard(self, guard: GuardConfig) -> None:
        """Change what leaves instead of an unswapped face."""
        with self._lock:
            self._change(guard=guard)

    def panic(self, on: bool = True, why: str = "") -> None:
        """Cover everything at once, and keep it covered until it is released.

        Args:
            on: cover, or release.
            why: a sentence for people, told with the event "panic".
        """
        running = self._running
        if running is not None:
            running.outlet.panic(on)
        self._bus.report("panic", why, on=on)
        with self._lock:
            self._change(panic=on)
            if on and self.state in (State.RUNNING, State.RECOVERING) and running and running.live:
                running.show_card("panic")

    def add_sink(self, sink: Sink | Route) -> None:
        """Feed one more sink.

        Raises:
            KawariError: it can't be opened; the others go on.
        """
        route = _route(sink)
        with self._lock:
            running = self._started()
            delivery = running.dispatch.add(route, running.stream)
        try:
            running.wait_for(lambda: delivery.opened or delivery.error is not None, self._check_stopped)
            raise_unless_open(delivery)
        except BaseException:
            self.remove_sink(route.sink)
            raise

    def remove_sink(self, sink: Sink) -> None:
        """Close a sink; returns when it has, at the latest after `stop_s`."""
        with self._lock:
            loop = self._started().dispatch.remove(sink)
        if loop is not None:
            loop.join(self.config.health.stop_s)

    def switch_source(self, source: Source | SourceGiver) -> None:
        """Go over to another source; only a card leaves until its first safe picture.

        A live source can only be replaced by a live one.
        """
        with self._lock:
            self._started().switch(source)
            self._machine.move(State.RECOVERING)

    # --- inside ----------------------------------------------------------------------------------

    def _started(self) -> Running:
        if self._running is None or self.state not in (State.RUNNING, State.RECOVERING):
            raise UsageError("The session does not run", "Start it first")
        return self._running

    def _check_stopped(self) -> None:
        if self.state in (State.STOPPING, State.FINISHED):
            raise UsageError("The session was stopped")

    def _watch(self) -> bool:
        self._threads.sleep(_TICK_S)
        running = self._running
        if running is None or self.state not in (State.RUNNING, State.RECOVERING):
            return False
        try:
            with self._lock:
                ended = running.watch()
                self._machine.move(State.RECOVERING if running.down else State.RUNNING)
        except Exception as error:  # noqa: BLE001
            self.error = error
            self._finish(FinishReason.FAILED, drain=True)
            return False
        if ended:
            self._finish(FinishReason.ENDED, drain=True)
        return not ended

    def _change(self, **changes: Any) -> None:
        self._plan = replace(self._plan, **changes)
        if self._running is not None:
            self._running.workers.change(**changes)

    def _finish(self, reason: FinishReason, *, drain: bool, timeout: float | None = None) -> None:
        """The one way to the end; later callers wait for the first."""
        timeout = self.config.health.stop_s if timeout is None else timeout
        if not self._ending.acquire(blocking=False):
            self._machine.wait_for(State.FINISHED, timeout + 0.1)
            return
        self._machine.move(State.STOPPING)
        if self._watchdog is not None:
            self._watchdog.stop()
        if self._running is not None:
            self._running.close(drain)
        self._abandoned = self._threads.join(timeout)
        if self._abandoned:
            self._bus.report("abandoned", count=len(self._abandoned), threads=" ".join(self._abandoned))
        self._reason = reason
        self._machine.move(State.FINISHED)
        self._bus.close(0.1)

    def _state_changed(self, state: State) -> None:
        finished = self._reason if state is State.FINISHED else None
        self._bus.report("state", state=state.value, reason=finished.value if finished else "")


def _first_plan(config: SessionConfig, identity: object | None, choice: FaceChoice | None) -> Plan:
    identities = {} if identity is None else {0: identity}
    chosen = choice_for(config.swap.who) if choice is None else choice
    return Plan(identities, chosen, config.swap.strength, config.guard, tracking_only=config.tracking_only)


def _route(sink: Sink | Route) -> Route:
    return sink if isinstance(sink, Route) else Route(sink)
