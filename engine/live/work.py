"""Takes captured frames, makes outputs, lets them leave; on one thread, or overlapped on two."""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import dataclass, field

from engine.buffers import BoundedQueue, Policy
from engine.config import DelayConfig
from engine.events import Report
from engine.live.capture import Captured
from engine.live.controller import Controller
from engine.live.outlet import Outlet
from engine.live.threads import Threads
from engine.metrics import Histogram
from engine.pipeline import Making, Pipeline, Sight
from engine.types import Output

_GLANCE_S = 0.001
"""While a device works, how often it is asked whether it is done, if no newer frame comes."""


@dataclass(slots=True)
class Tally:
    """What the engine's work adds up to.

    Attributes:
        made: pictures that left.
        drops: frames that did not, by reason: "late", "cadence", "stale".
        shown: pictures by what they showed.
        stages: wall time of each stage.
        last: the last picture that left.
    """

    made: int = 0
    drops: Counter[str] = field(default_factory=Counter)
    shown: Counter[str] = field(default_factory=Counter)
    stages: dict[str, Histogram] = field(default_factory=dict)
    last: Output | None = None

    def count(self, output: Output) -> None:
        """One more picture left."""
        self.made += 1
        self.last = output
        self.shown[output.shown.value] += 1
        for stage, took in output.stage_ms.items():
            if stage not in self.stages:
                self.stages[stage] = Histogram()
            self.stages[stage].record(int(took * 1e6))


class Work:
    """The engine's own work of one session, until it is given up.

    Args:
        pipeline: used by nobody else.
        frames: where captured frames come from.
        outlet: where outputs go.
        number: the second half of this worker's tickets, see `engine.live.outlet.Ticket`.
        delay: the budget.
        controller: told each delay, asked for the quality.
        live: late frames may be dropped.
        threads: its clock.
        tally: what it counts; kept when the work is replaced.
        report: takes events.

    Attributes:
        busy_ns: since when each of the two parts works on its oldest frame; 0 while it waits.
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
        threads: Threads,
        tally: Tally,
        report: Report,
    ) -> None:
        self.pipeline = pipeline
        self._frames = frames
        self._outlet = outlet
        self._number = number
        self._delay = delay
        self._controller = controller
        self._live = live
        self._threads = threads
        self._now = threads.now
        self._tally = tally
        self._given_up = threading.Event()
        self._report = report
        self._between: BoundedQueue[tuple[Captured, Sight | None]] = BoundedQueue(1, Policy.BLOCK)
        self._under_way: deque[tuple[Captured, Making, int]] = deque()
        self._count = 0
        self._shown = ""
        self.busy_ns = [0, 0]
        self.ended = False

    def step(self) -> bool:
        """Take and make one frame (not overlapped)."""
        captured = self._frames.take(self._poll_s)
        if captured is None:
            return self._idle() and not self._frames.closed
        return self._make(captured, self._look(captured))

    def look_step(self) -> bool:
        """First half, on its own thread: take a frame, find the faces."""
        captured = self._frames.take(self._threads.poll_s)
        if captured is None:
            if self._frames.closed:
                self._between.close()
                return False
            return True
        sight = self._look(captured)
        return self._between.put((captured, sight)) and captured.frame is not None

    def make_step(self) -> bool:
        """Second half, on its own thread: swap, guard, mark, let it leave."""
        pair = self._between.take(self._poll_s)
        if pair is None:
            return self._idle() and not self._between.closed
        return self._make(*pair)

    def close(self) -> None:
        """Let nothing more leave, and wake up whoever waits inside."""
        self._given_up.set()
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

    @property
    def _poll_s(self) -> float:
        return min(self._threads.poll_s, _GLANCE_S) if self._under_way else self._threads.poll_s

    def _idle(self) -> bool:
        """Nothing new has come: let what is ready leave, so that no picture waits for the next one."""
        if self._under_way and self._under_way[0][1].ready:
            return self._finish()
        return True

    def _make(self, captured: Captured, sight: Sight | None) -> bool:
        frame = captured.frame
        if frame is None:
            while self._under_way and self._finish():
                pass
            self.ended = captured.epoch == self._outlet.ticket[0]
            return not self.ended
        if self._given_up.is_set():
            return False
        if sight is None or self._late(frame.captured_ns):
            return True
        began = self._now()
        self.busy_ns[1] = self.busy_ns[1] or began
        try:
            self._under_way.append((captured, self.pipeline.begin(sight), began))
        finally:
            self.busy_ns[1] = self._oldest_ns
        while len(self._under_way) >= self.pipeline.depth:
            if not self._finish():
                return False
        return True

    def _finish(self) -> bool:
        """Finish the oldest frame under way, and let it leave."""
        captured, making, _ = self._under_way.popleft()
        try:
            output = self.pipeline.finish(making)
        finally:
            self.busy_ns[1] = self._oldest_ns
        if self._given_up.is_set():
            return False
        self._leave(captured, output)
        return True

    @property
    def _oldest_ns(self) -> int:
        return self._under_way[0][2] if self._under_way else 0

    def _leave(self, captured: Captured, output: Output) -> None:
        if self._late(output.frame.captured_ns):
            return
        if self._live:
            self._observe(output.frame.captured_ns)
        refused = self._outlet.emit(output, (captured.epoch, self._number))
        if refused:
            self._tally.drops[refused] += 1
            return
        self._tally.count(output)
        self._tell_guard(output)

    def _late(self, captured_ns: int) -> bool:
        limit = self._delay.hard_ms * 1e6
        if not self._live or not limit or self._now() - captured_ns <= limit:
            return False
        self._tally.drops["late"] += 1
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
        self._tally.drops["cadence"] += 1
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
