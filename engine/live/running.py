"""The parts of a running session, put together and looked after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from engine.config import SessionConfig
from engine.errors import DeviceError
from engine.events import Report
from engine.live.controller import Controller
from engine.live.delivery import Delivery
from engine.live.dispatch import Dispatch, Route
from engine.live.outlet import Outlet
from engine.live.stats import Stats
from engine.live.supply import SourceGiver, Supply
from engine.live.threads import Threads
from engine.live.work import Tally, Work
from engine.live.workers import BuildPipeline, Workers
from engine.pipeline import Pipeline, Plan
from engine.sinks.base import StreamInfo
from engine.sources.base import Source, SourceInfo
from engine.types import Frame, Output, Shown

_START_S = 15.0
"""Longest time that opening the source, or all sinks, may take."""
_POLL_S = 0.002
_GAP = ("camera-lost", "overload", "starting")
"""Reasons of the cards that fill a gap."""


class Running:
    """Supply, workers and dispatch of one session. Not thread-safe: the session's lock guards it.

    Args:
        config: the session's settings.
        source: see `Session`.
        build: makes the pipeline.
        plan: what it begins with.
        threads: time and threads.
        report: takes events.
    """

    def __init__(
        self,
        config: SessionConfig,
        source: Source | SourceGiver,
        build: BuildPipeline,
        plan: Plan,
        threads: Threads,
        report: Report,
    ) -> None:
        self._config = config
        self._threads = threads
        self._report = report
        self._began = threads.now()
        self._controller = Controller(config.delay.budget_ms, config.delay.adapt)
        self._tally = Tally()
        self._draining = False
        self.outlet = Outlet(threads.now, self._covered)
        self.dispatch = Dispatch(self.outlet, config.health, threads, report)
        # The source opens on its own thread while this one loads the models.
        self.supply = Supply(source, config.health, threads, report)
        try:
            self.workers = Workers(build, plan, self._make_work, config, threads, report)
        except BaseException:
            self.supply.close()
            raise

    @property
    def live(self) -> bool:
        """See `SourceInfo.live`."""
        return self._info.live

    @property
    def stream(self) -> StreamInfo:
        """What a sink is told."""
        info = self._info
        return StreamInfo(info.width, info.height, info.fps, info.live)

    @property
    def down(self) -> bool:
        """True while the source or the engine is being restarted."""
        return self.supply.lost or self.workers.down

    @property
    def _info(self) -> SourceInfo:
        assert self.supply.info is not None, "not opened yet"
        return self.supply.info

    def open(self, routes: Sequence[Route], check: Callable[[], None]) -> None:
        """Open the source, then the sinks, then let frames flow.

        Args:
            routes: the sinks.
            check: raises to give up waiting.

        Raises:
            KawariError: one of them can't be opened.
        """
        capture = self.supply.capture
        self.wait_for(lambda: capture.info is not None or capture.error is not None, check)
        if capture.info is None:
            raise capture.error or DeviceError("The source does not open", "Unplug it and try again")
        self.supply.info = capture.info
        deliveries = [self.dispatch.add(route, self.stream) for route in routes]
        self.wait_for(lambda: all(one.opened or one.error for one in deliveries), check)
        for one in deliveries:
            raise_unless_open(one)
        if self.live:
            for reason in ("panic", *_GAP):  # in need, nothing has to be drawn or marked any more
                self.workers.pipeline.cards.get(reason, capture.info.width, capture.info.height)
        self.outlet.admit((self.supply.epoch, self.workers.number))
        self.supply.begin(capture.info)
        self.workers.begin()

    def wait_for(self, ready: Callable[[], bool], check: Callable[[], None]) -> None:
        """Wait until something is open, at most 15 s."""
        deadline = self._threads.now() + int(_START_S * 1e9)
        while not ready() and self._threads.now() < deadline:
            check()
            self._threads.sleep(_POLL_S)

    def watch(self) -> bool:
        """One round of the watchdog; True when everything has ended well.

        Raises:
            Exception: it can't be kept running.
        """
        self.dispatch.step()
        if self._draining:
            return self.dispatch.drained()
        error = self.supply.step() or self.workers.step()
        if error is None and not self.live:
            error = self.dispatch.failure
        self.outlet.admit((self.supply.epoch, self.workers.number))
        if error is not None:
            raise error
        self._fill_gap()
        if self.workers.ended:
            self._draining = True
            self.dispatch.close(drain=True)
        return False

    def switch(self, source: Source | SourceGiver) -> None:
        """Go over to another source."""
        self.supply.switch(source)
        self.outlet.admit((self.supply.epoch, self.workers.number))
        if self.live:
            self.show_card("starting")

    def show_card(self, reason: str) -> None:
        """Let a card leave now."""
        info = self._info
        image = self.workers.pipeline.cards.get(reason, info.width, info.height)
        last = self.outlet.last
        # As old as a frame may be, so that one which the engine is just making may still follow.
        time = self._threads.now() - int(self._config.delay.hard_ms * 1e6)
        if last is not None:
            time = max(time, last.frame.captured_ns) if self._config.delay.hard_ms else last.frame.captured_ns
        frame = Frame(last.frame.id if last else 0, time, image)
        self.outlet.emit(Output(frame, image, shown=Shown.COVERED, reason=reason), None)

    def close(self, drain: bool) -> None:
        """Ask everything to end; nothing more leaves the engine."""
        self.outlet.admit((-1, -1))
        self.supply.close()
        self.workers.close()
        self.dispatch.close(drain)

    def stats(self) -> Stats:
        """All figures but those only the session knows."""
        tally, outlet, now = self._tally, self.outlet, self._threads.now()
        last = tally.last
        drops = {"newer": self.supply.frames.dropped, "corrupt": self.supply.corrupt}
        return Stats(
            state="",
            reason="",
            seconds=(now - self._began) / 1e9,
            frames_in=self.supply.delivered,
            frames_out=tally.made,
            fps=outlet.rate.per_second(now),
            delay=outlet.delay.percentiles(),
            stages={name: one.percentiles() for name, one in tally.stages.copy().items()},
            drops=drops | dict(tally.drops),
            faces=len(last.faces) if last else 0,
            swapped=len(last.swapped) if last else 0,
            shown=outlet.last.shown.value if outlet.last else "",
            guard=dict(tally.shown),
            errors=dict(self.workers.pipeline.errors),
            quality=self._controller.quality.name,
            quality_step=self._controller.step,
            quality_moves=self._controller.moves,
            restarts={
                "source": self.supply.restarts,
                "engine": self.workers.restarts,
                "sinks": self.dispatch.restarts,
            },
            sinks=self.dispatch.stats(),
            panic=outlet.in_panic,
        )

    def _make_work(self, pipeline: Pipeline, number: int) -> Work:
        return Work(
            pipeline, self.supply.frames, self.outlet, number, self._config.delay, self._controller,
            self.live, self._threads, self._tally, self._report,
        )  # fmt: skip

    def _fill_gap(self) -> None:
        """While nothing else leaves, a card does."""
        if not self.live:
            return
        health, last = self._config.health, self.outlet.last
        quiet_s = (self._threads.now() - self.outlet.last_ns) / 1e9
        in_gap = self.supply.lost or (last is not None and last.reason in _GAP)
        if quiet_s >= (1 / health.card_fps if in_gap else health.stall_s):
            self.show_card("camera-lost" if self.supply.lost else "overload")

    def _covered(self, output: Output) -> Output:
        height, width = output.image.shape[:2]
        card = self.workers.pipeline.cards.get("panic", width, height)
        return replace(output, image=card, swapped=(), shown=Shown.COVERED, reason="panic")


def raise_unless_open(delivery: Delivery) -> None:
    """Raise why a sink could not be opened, if it could not."""
    if not delivery.opened:
        raise delivery.error or DeviceError(f"{delivery.sink.name} does not answer")
