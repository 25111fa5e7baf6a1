"""Takes captured frames, makes outputs, lets them leave; on one thread, or overlapped on two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from engine.buffers import BoundedQueue, Policy
from engine.capture import Captured
from engine.config import DelayConfig
from engine.controller import Controller
from engine.events import Report
from engine.metrics import Histogram
from engine.outlet import Outlet
from engine.pipeline import Pipeline, Sight
from engine.types import Output

_POLL_S = 0.1


class Work:
    """The engine's own work of one session, until it is given up.

    Args:
        pipeline: used by nobody else.
        frames: where captured frames come from.
        outlet: where outputs go.
        number: the second half of this worker's tickets, see `engine.outlet.Ticket`.
        delay: the budget.
        controller: told each delay, asked for the quality.
        live: late frames may be dropped.
        now: monotonic clock, ns.
        report: takes events.

    Attributes:
        busy_ns: since when each of the two parts works on one frame; 0 while it waits.
        drops: frames that did not leave, by reason: "late", "cadence", "stale".
        ended: the last frame of the source went through.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        frames: BoundedQueue[Captured],
        outlet: Outlet,
        number: int,
        delay: DelayConfig,
        controller: Controller,
        live: bool,
        now: Callable[[], int],
        report: Report,
    ) -> None:
        self.pipeline = pipeline
        self._frames = frames
        self._outlet = outlet
        self._number = number
        self._delay = delay
        self._controller = controller
        self._live = live
        self._now = now
        self._report = report
        self._between: BoundedQueue[tuple[Captured, Sight | None]] = BoundedQueue(1, Policy.BLOCK)
        self._count = 0
        self._shown = ""
        self.busy_ns = [0, 0]
        self.drops: Counter[str] = Counter()
        self.actions: Counter[str] = Counter()
        self.stages: dict[str, Histogram] = {}
        self.last: Output | None = None
        self.made = 0
        self.ended = False

    def step(self) -> bool:
        """Take and finish one frame (not overlapped)."""
        captured = self._frames.take(_POLL_S)
        if captured is None:
            return not self._frames.closed
        sight = self._look(captured)
        return self._finish(captured, sight)

    def look_step(self) -> bool:
        """First half, on its own thread: take a frame, find the faces."""
        captured = self._frames.take(_POLL_S)
        if captured is None:
            if self._frames.closed:
                self._between.close()
                return False
            return True
        sight = self._look(captured)
        return self._between.put((captured, sight)) and captured.frame is not None

    def make_step(self) -> bool:
        """Second half, on its own thread: swap, guard, mark, let it leave."""
        pair = self._between.take(_POLL_S)
        if pair is None:
            return not self._between.closed
        return self._finish(*pair)

    def close(self) -> None:
        """Wake up whoever waits inside."""
        self._between.close()

    def _look(self, captured: Captured) -> Sight | None:
        frame = captured.frame
        if frame is None or captured.epoch != self._outlet.ticket[0]:
            return None
        if self._skipped() or self._late(frame.captured_ns):
            return None
        self.busy_ns[0] = self._now()
        try:
            return self.pipeline.look(frame, stream=captured.epoch)
        finally:
            self.busy_ns[0] = 0

    def _finish(self, captured: Captured, sight: Sight | None) -> bool:
        frame = captured.frame
        if frame is None:
            self.ended = captured.epoch == self._outlet.ticket[0]
            return not self.ended
        if sight is None or self._late(frame.captured_ns):
            return True
        self.busy_ns[1] = self._now()
        try:
            output = self.pipeline.make(sight)
        finally:
            self.busy_ns[1] = 0
        self._leave(captured, output)
        return True

    def _leave(self, captured: Captured, output: Output) -> None:
        if self._late(output.frame.captured_ns):
            return
        if self._live:
            self._observe(output.frame.captured_ns)
        if not self._outlet.emit(output, (captured.epoch, self._number)):
            self.drops["stale"] += 1
            return
        self.made += 1
        self.last = output
        self.actions[output.shown.value] += 1
        for stage, took in output.stage_ms.items():
            self.stages.setdefault(stage, Histogram()).record(int(took * 1e6))
        self._tell_guard(output)

    def _late(self, captured_ns: int) -> bool:
        limit = self._delay.hard_ms * 1e6
        if not self._live or not limit or self._now() - captured_ns <= limit:
            return False
        self.drops["late"] += 1
        self._observe(captured_ns)
        return True

    def _observe(self, captured_ns: int) -> None:
        now = self._now()
        if self._controller.observe(now - captured_ns, now):
            self._tell_quality()

    def _skipped(self) -> bool:
        self._count += 1
        if not self._live or self._count % self._controller.quality.swap_every == 0:
            return False
        self.drops["cadence"] += 1
        return True

    def _tell_quality(self) -> None:
        quality = self._controller.quality
        self.pipeline.change(quality=quality)
        message = f"Quality is now {quality.name}"
        self._report("quality", message, step=self._controller.step, name=quality.name)

    def _tell_guard(self, output: Output) -> None:
        what = output.reason if output.shown.value not in ("swapped", "nothing-to-swap") else ""
        if what != self._shown:
            self._shown = what
            self._report("guard", shown=output.shown.value, reason=output.reason)
