"""Random faults played on a real session in simulated time, and the checks that must hold."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from engine.config import DelayConfig, GuardConfig, GuardPolicy, HealthConfig, SessionConfig, SwapConfig, Who
from engine.errors import DeviceError
from engine.live.dispatch import Route
from engine.live.session import Session
from engine.live.state import FinishReason, State
from engine.pipeline import Pipeline
from engine.sources.base import SourceInfo
from engine.types import Face, Frame, Image, Output, Shown
from tests.scripted import Person, Script, ScriptedMarker, ScriptedSwapper, ScriptedTracker, World, shows
from tests.simulation import SimThreads

EMPTY_S = 0.4
"""The guard's `empty_after_s` here; the detector never misses somebody for as long as that."""
BLIND_MOST_S = 0.3
FPS = 40.0
RECOVERY_S = 1.0
HEALTH = HealthConfig(
    no_frames_s=0.2, frozen_s=0.4, stall_s=0.1, stage_s=0.25, sink_s=0.3, backoff_s=0.02,
    backoff_max_s=0.2, restarts=50, card_fps=20.0,
)  # fmt: skip
DELAY = DelayConfig(budget_ms=60, hard_ms=200)
POLICIES = [one for one in GuardPolicy if one is not GuardPolicy.PASS]


@dataclass(frozen=True)
class Fault:
    """Something goes wrong at `at` for `lasts` seconds."""

    kind: str
    at: float
    lasts: float


class SeeingTracker(ScriptedTracker):
    """Misses people only after it has met them: nobody can guard against a detector that is blind
    to somebody whom it has never seen."""

    def __init__(self, world: World, script: Script) -> None:
        super().__init__(world, script)
        self.met: set[int] = set()

    def update(self, frame: Frame) -> tuple[Face, ...]:
        here = {one.id for one in self.world.at(frame.image)}
        self.met &= here
        wanted, self.script.blind = self.script.blind, self.script.blind and here <= self.met
        try:
            faces = super().update(frame)
        finally:
            self.script.blind = wanted
        self.met |= {one.id for one in faces}
        return faces


class SimSource:
    """A camera on simulated time."""

    def __init__(self, world: World, threads: SimThreads) -> None:
        self.world, self.threads = world, threads
        self.unplugged = self.frozen = self.corrupt = self.raises = False
        self.hang_until = 0
        self.closed = False
        self._count = 0
        self._last: Image | None = None

    def open(self) -> SourceInfo:
        if self.unplugged:
            raise DeviceError("unplugged")
        self.closed = False
        return SourceInfo("simulated", self.world.width, self.world.height, FPS, live=True)

    def read(self) -> Frame | None:
        self.threads.sleep(1 / FPS)
        while self.threads.now() < self.hang_until:
            self.threads.sleep(0.01)
        if self.closed:
            return None
        if self.unplugged:
            raise DeviceError("unplugged")
        if self.raises:
            raise OSError("driver")
        image = self._last if self.frozen and self._last is not None else self.world.picture()
        self._last = image
        self._count += 1
        if self.corrupt:
            image = image[:0]
        return Frame(self._count, self.threads.now(), image)

    def close(self) -> None:
        self.closed = True


class Witness:
    """A sink that checks every picture that leaves."""

    name = "witness"

    def __init__(self, drama: Drama, name: str = "witness") -> None:
        self.drama, self.name = drama, name
        self.raises: Exception | None = None
        self.hang_until = 0
        self.count = self.opened = self.closed = 0
        self.last_swapped = -1
        self.shown: dict[str, int] = {}
        self._newest = -1
        self._inputs: list[Image] = []

    def open(self, stream: object) -> None:
        self.opened += 1

    def write(self, output: Output) -> None:
        threads = self.drama.threads
        while threads.now() < self.hang_until:
            threads.sleep(0.01)
        if self.raises is not None:
            raise self.raises
        self.check(output)

    def close(self) -> None:
        self.closed += 1

    def check(self, output: Output) -> None:
        drama = self.drama
        self.count += 1
        self.shown[output.shown.value] = self.shown.get(output.shown.value, 0) + 1
        if output.frame.captured_ns < self._newest:
            drama.problems.append(f"{self.name}: out of order")
        self._newest = output.frame.captured_ns
        if output.shown is Shown.SWAPPED:
            self.last_swapped = drama.threads.now()
        if output.shown is Shown.PASSED:
            drama.problems.append("pass-through without being asked for")
        if drama.panicking and output.reason != "panic" and output.frame.captured_ns > drama.panic_ns:
            drama.problems.append(f"not covered in panic: {output.shown}")
        known = drama.world.log.get(id(output.frame.image))
        if known is not None:
            self._inputs = [*self._inputs[-2:], output.frame.image]
        for image in self._inputs:
            for person in drama.world.log[id(image)][1]:
                if shows(output.image, image, person):
                    drama.problems.append(
                        f"LEAK {self.name} at {drama.seconds:.3f}: {output.shown} {output.reason} {person.id}"
                    )


class Drama:
    """One session, one list of faults."""

    def __init__(
        self, seed: int, faults: list[Fault], policy: GuardPolicy, delay: DelayConfig = DELAY
    ) -> None:
        self.threads = SimThreads(seed)
        self.world = World([Person(1, 34, 36, 28), Person(2, 76, 36, 22, there=False)])
        self.script = Script(sleep=self.threads.sleep)
        self.swapper = ScriptedSwapper(self.script)
        self.source = SimSource(self.world, self.threads)
        self.sink, self.other = Witness(self), Witness(self, "other")
        self.problems: list[str] = []
        self.panicking = False
        self.panic_ns = 0
        self.blind_s = 0.0
        self.began = self.threads.now()
        self._random = random.Random(seed)
        self._faults = faults
        guard = GuardConfig(policy=policy, hold_s=0.2, empty_after_s=EMPTY_S, look_age_s=0.2)
        config = SessionConfig(SwapConfig(who=Who.ALL), guard, delay, HEALTH)
        self.session = Session(
            config,
            self.source,
            [Route(self.sink, restart=True), Route(self.other, restart=True)],
            identity=object(),
            build=self._build,
            threads=self.threads,
        )

    @property
    def seconds(self) -> float:
        return (self.threads.now() - self.began) / 1e9

    def _build(self, plan, report):
        return Pipeline(
            SeeingTracker(self.world, self.script), self.swapper, plan,
            marker=ScriptedMarker(self.script), report=report,
        )  # fmt: skip

    def play(self) -> list[str]:
        """The problems found; empty if all went well."""
        self.session.start()
        moments = sorted(
            [(fault.at, self._start(fault)) for fault in self._faults]
            + [(fault.at + fault.lasts, self._end(fault)) for fault in self._faults],
            key=lambda moment: moment[0],
        )
        for at, act in moments:
            self._advance(at)
            act()
        self._all_well()
        self.ended = self.threads.now()
        limit = self.seconds + RECOVERY_S
        while self.seconds < limit and not self._recovered():
            self._advance(self.seconds + 0.05)
        self._check_recovered()
        before = self.threads.now()
        self.session.stop()
        if self.threads.now() - before > 1_000_000_000:
            self.problems.append("stop took more than a second")
        self._check_end()
        return self.problems

    def _advance(self, until: float) -> None:
        while self.seconds < until:
            self.threads.sleep(min(0.02, until - self.seconds + 1e-6))
            for person in self.world.people:
                person.x += self._random.uniform(-1, 1)
                person.x = min(max(person.x, 20), 82)

    def _recovered(self) -> bool:
        if self.session.state is not State.RUNNING:
            return False
        return min(self.sink.last_swapped, self.other.last_swapped) >= self.ended

    def _check_recovered(self) -> None:
        if self.session.error is not None or self.session.state is not State.RUNNING:
            self.problems.append(f"not running: {self.session.state} {self.session.error!r}")
        for sink in (self.sink, self.other):
            if sink.last_swapped < self.ended:
                self.problems.append(f"{sink.name} got no swapped picture within {RECOVERY_S} s")

    def _check_end(self) -> None:
        if self.session.reason is not FinishReason.STOPPED:
            self.problems.append(f"finished as {self.session.reason}")
        self.problems += [f"{one.name}: {one.error!r}" for one in self.threads.all_loops if one.error]
        counts = (self.sink.count, self.other.count)
        self.threads.sleep(0.5)
        if counts != (self.sink.count, self.other.count):
            self.problems.append("something left after the stop")

    def _all_well(self) -> None:
        """Every fault ends; the world goes back to one person."""
        self.script.clear()
        self.source.unplugged = self.source.frozen = self.source.corrupt = self.source.raises = False
        for sink in (self.sink, self.other):
            sink.raises = None
        for person in self.world.people:
            person.there = person.id == 1

    def _start(self, fault: Fault) -> Callable[[], None]:
        return lambda: FAULTS[fault.kind][0](self, fault.lasts)

    def _end(self, fault: Fault) -> Callable[[], None]:
        return lambda: FAULTS[fault.kind][1](self)

    def set_script(self, name: str, value: object) -> None:
        setattr(self.script, name, value)

    def blind(self, lasts: float) -> None:
        """Only for as long as the guard is promised."""
        if self.blind_s + lasts <= BLIND_MOST_S:
            self.blind_s += lasts
            self.script.blind = True

    def panic(self, on: bool) -> None:
        self.session.panic(on)
        self.panicking, self.panic_ns = on, self.threads.now()

    def switch(self) -> None:
        old = self.source
        self.source = SimSource(self.world, self.threads)
        self.source.hang_until = old.hang_until
        self.session.switch_source(self.source)

    def hang_model(self, lasts: float) -> None:
        until = self.threads.now() + int(lasts * 1e9)

        class Hang:
            """Hangs whoever comes while it lasts."""

            def wait(inner) -> None:
                while self.threads.now() < until:
                    self.threads.sleep(0.01)

        self.script.hang = Hang()  # type: ignore[assignment]

    def hang_source(self, lasts: float) -> None:
        self.source.hang_until = self.threads.now() + int(lasts * 1e9)

    def hang_sink(self, lasts: float) -> None:
        self.sink.hang_until = self.threads.now() + int(lasts * 1e9)

    def resize(self, width: int, height: int) -> None:
        self.world.width, self.world.height = width, height

    def there(self, index: int, there: bool) -> None:
        self.world.people[index].there = there


def _script(name: str, value: object = True):
    default = Script.__dataclass_fields__[name].default
    return (
        lambda drama, lasts: drama.set_script(name, value),
        lambda drama: drama.set_script(name, default),
    )


def _source(name: str):
    return (
        lambda drama, lasts: setattr(drama.source, name, True),
        lambda drama: setattr(drama.source, name, False),
    )


def _nothing(drama: Drama) -> None:
    """The fault ends by itself."""


FAULTS: dict[str, tuple[Callable[[Drama, float], object], Callable[[Drama], object]]] = {
    "unplugged": _source("unplugged"),
    "frozen": _source("frozen"),
    "corrupt": _source("corrupt"),
    "source-raises": _source("raises"),
    "source-hangs": (Drama.hang_source, _nothing),
    "blind": (Drama.blind, lambda drama: drama.set_script("blind", False)),
    "lazy": _script("lazy"),
    "track-raises": _script("track_raises"),
    "swap-raises": _script("swap_raises"),
    "swap-none": _script("swap_none"),
    "swap-empty": _script("swap_empty"),
    "swap-identity": _script("swap_identity"),
    "nan": _script("swap_nan"),
    "mark-raises": _script("mark_raises"),
    "slow": _script("slow_s", 0.06),
    "very-slow": _script("slow_s", 0.22),
    "model-hangs": (Drama.hang_model, lambda drama: drama.set_script("hang", None)),
    "sink-raises": (
        lambda drama, lasts: setattr(drama.sink, "raises", DeviceError("gone")),
        lambda drama: setattr(drama.sink, "raises", None),
    ),
    "sink-fault": (
        lambda drama, lasts: setattr(drama.other, "raises", ValueError("odd")),
        lambda drama: setattr(drama.other, "raises", None),
    ),
    "sink-hangs": (Drama.hang_sink, _nothing),
    "panic": (lambda drama, lasts: drama.panic(True), lambda drama: drama.panic(False)),
    "switch": (lambda drama, lasts: drama.switch(), _nothing),
    "resize": (lambda drama, lasts: drama.resize(80, 64), lambda drama: drama.resize(96, 72)),
    "leave": (lambda drama, lasts: drama.there(0, False), lambda drama: drama.there(0, True)),
    "enter": (lambda drama, lasts: drama.there(1, True), lambda drama: drama.there(1, False)),
}
"""Name → what begins, and what ends, the fault."""


def random_faults(seed: int, most: int = 6) -> list[Fault]:
    """A random mix."""
    source = random.Random(seed)
    kinds = source.choices(sorted(FAULTS), k=source.randint(1, most))
    return [
        Fault(kind, source.uniform(0.0, 1.2), source.uniform(0.02, 0.5) + (0.5 if kind == "leave" else 0))
        for kind in kinds
    ]
