"""One frame in, one finished picture out: track → choose → swap → blend → guard → mark.

Synchronous and without threads of its own; the session drives it live, the file export directly.
`process` is `look` (track) followed by `make` (everything else), so that two threads can overlap.
`make` is `begin` (choose, and queue the swap where a device does it) followed by `finish` (what the
host swaps, guard, mark), so that a device can work on several frames at once.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.blend.modes import Paster
from engine.blend.paste import paste
from engine.cards import Cards
from engine.config import GuardConfig
from engine.events import Report, silent
from engine.guard.curtain import Curtain
from engine.guard.guard import Evidence, Guard, Verdict
from engine.marking import Faults, Marker, Marking
from engine.quality import LADDER, Quality
from engine.swap.base import Swapper
from engine.swapping import Begun, Swapping, give_quality
from engine.track.base import Box, FaceTracker
from engine.track.choice import Chooser, FaceChoice, Which
from engine.types import Face, Frame, Image, Output, Shown


@dataclass(frozen=True, slots=True)
class Plan:
    """What the next frame is made with; replaced as a whole, so that no frame sees half a change.

    Attributes:
        identities: prepared identities by the source numbers that the choice gives.
        choice: which faces are swapped, with whom; faces left out are shown as they are. All is the
            safest.
        strength: 0..1, see `FaceSwap.patch`.
        guard: the leak guard's settings.
        quality: hints from the controller.
        panic: only the card leaves.
        tracking_only: faces are found but not swapped, and every picture is covered as a whole: blurred
            or pixelated if the guard's policy says so, else by the card. The real face never leaves.
    """

    identities: Mapping[int, Any] = field(default_factory=dict)
    choice: FaceChoice = field(default_factory=lambda: FaceChoice(Which.ALL))
    strength: float = 0.8
    guard: GuardConfig = field(default_factory=GuardConfig)
    quality: Quality = LADDER[0]
    panic: bool = False
    tracking_only: bool = False


@dataclass(frozen=True, slots=True)
class Sight:
    """What tracking found in a frame; made by `Pipeline.look`, used up by `Pipeline.make`."""

    frame: Frame
    faces: tuple[Face, ...]
    looked: bool
    doubtful: tuple[Box, ...]
    failed: bool
    stream: int
    stage_ms: dict[str, float]


@dataclass(frozen=True, slots=True)
class Making:
    """A frame under way; made by `Pipeline.begin`, used up by `Pipeline.finish`.

    Attributes:
        sight: what tracking found.
        plan: what it is made with.
        wanted: source by id of each face to swap.
        fresh: the first frame of a scene.
        failed: the choice of faces raised.
        strict: see `Evidence`.
        swap: its swap; None where nothing is swapped.
        error: what made `begin` give up.
    """

    sight: Sight
    plan: Plan
    wanted: Mapping[int, int] = field(default_factory=dict)
    fresh: bool = False
    failed: bool = False
    strict: bool = True
    swap: Begun | None = None
    error: Exception | None = None

    @property
    def ready(self) -> bool:
        """True once `Pipeline.finish` need not wait for a device."""
        return self.swap is None or self.swap.away is None or self.swap.away.ready


class Pipeline:
    """Makes the outputs of one stream; frames must come in order.

    Args:
        tracker: finds the faces.
        swapper: makes the patches.
        plan: what to begin with.
        marker: puts the marks on everything that leaves; None for none (tests).
        picture: the user's still picture for `GuardPolicy.PICTURE`.
        report: called with events ("stage-failed", "stage-recovered", "choice-lost") on the calling thread.
        join: puts patches into frames.
    """

    def __init__(
        self,
        tracker: FaceTracker,
        swapper: Swapper[Any],
        plan: Plan,
        *,
        marker: Marker | None = None,
        picture: Image | None = None,
        report: Report = silent,
        join: Paster = paste,
    ) -> None:
        self._tracker = tracker
        self.swapper = swapper
        if hasattr(swapper, "report"):
            swapper.report = report
        self._report = report
        self._plan = plan
        self._plan_lock = threading.Lock()
        self._guard = Guard(plan.guard)
        self._chooser = Chooser(plan.choice)
        self._strict = True
        self._swapping = Swapping(swapper, join)
        self._tracked: object = None
        self._begun: object = None
        self._outdated: FaceChoice | None = None
        self._seen_before = False
        self._faults = Faults(report)
        self._marking = Marking(marker, self._faults)
        self.cards = Cards(self._marking.card, picture)
        self._curtain = Curtain(self.cards, picture is not None)

    @property
    def errors(self) -> dict[str, int]:
        """Times each stage raised."""
        return self._faults.errors

    @property
    def plan(self) -> Plan:
        """What the next frame is made with."""
        return self._plan

    def change(self, **changes: Any) -> None:
        """Replace fields of the plan; any thread, takes effect with the next frame."""
        with self._plan_lock:
            self._plan = replace(self._plan, **changes)

    def forget_persons(self) -> None:
        """Persons are numbered anew from now on: until others are chosen, everybody is swapped."""
        choice = self._plan.choice
        if choice.which is Which.PERSONS and choice is not self._outdated:
            self._outdated = choice
            self._report(
                "choice-lost", "The picture was interrupted: everybody is swapped until you choose again"
            )

    def process(self, frame: Frame, *, stream: int = 0) -> Output:
        """Make the output of one frame.

        Args:
            frame: the next frame.
            stream: number of the source it comes from; when it changes, or the frames' size does,
                nothing that is known of earlier frames is trusted any more.
        """
        return self.make(self.look(frame, stream=stream))

    def look(self, frame: Frame, *, stream: int = 0) -> Sight:
        """Find the faces. May run on another thread than `make`."""
        scene = (stream, frame.image.shape)
        fresh, self._tracked = scene != self._tracked, scene
        clock = _Clock()
        faces: tuple[Face, ...] = ()
        doubtful: tuple[Box, ...] = ()
        looked = failed = False
        try:
            if fresh:
                self._tracker.reset()
            give_quality(self._tracker, self._tracking_quality())
            faces = self._tracker.update(frame)
            looked, doubtful = self._tracker.looked, self._tracker.doubtful
            self._faults.recovered("track")
        except Exception as error:  # noqa: BLE001 - whatever a stage does, no frame may leak
            self._faults.failed("track", error)
            faces, failed = (), True
        clock.lap("track")
        return Sight(frame, faces, looked, doubtful, failed, stream, clock.laps)

    def make(self, sight: Sight) -> Output:
        """Swap, guard and mark. Never raises: a fault of the guard itself gives the card."""
        return self.finish(self.begin(sight))

    def stream(self, frames: Iterable[Frame]) -> Iterator[Output]:
        """The outputs of frames in order, with as many under way at once as the swapper's device takes."""
        under_way: deque[Making] = deque()
        for frame in frames:
            under_way.append(self.begin(self.look(frame)))
            while len(under_way) >= self.depth:
                yield self.finish(under_way.popleft())
        while under_way:
            yield self.finish(under_way.popleft())

    @property
    def depth(self) -> int:
        """How many frames may be begun before the oldest is finished."""
        return self._swapping.depth

    def begin(self, sight: Sight) -> Making:
        """Choose the faces, and begin their swap; waits for no device. Never raises."""
        scene = (sight.stream, sight.frame.image.shape)
        fresh, self._begun = scene != self._begun, scene
        try:
            return self._begin(sight, fresh)
        except Exception as error:  # noqa: BLE001
            return Making(sight, self._plan, fresh=fresh, error=error)

    def finish(self, making: Making) -> Output:
        """What `make` gives, of a frame that was begun; in the order in which they were. Never raises."""
        try:
            if making.fresh:
                self._guard.reset()
            if making.error is not None:
                raise making.error
            output = self._finish(making)
            self._faults.recovered("guard")
            return output
        except Exception as error:  # noqa: BLE001
            self._faults.failed("guard", error)
            frame = making.sight.frame
            card = self._curtain.card("stage-failed", frame.image)
            return Output(frame, card, shown=Shown.COVERED, reason="stage-failed")

    def _begin(self, sight: Sight, fresh: bool) -> Making:
        plan, now_s = self._plan, sight.frame.seconds
        clock = _Clock(sight.stage_ms)
        if fresh:
            if self._seen_before:
                self.forget_persons()
            self._seen_before = True
            self._chooser = Chooser()
            self._swapping.reset()
        if plan.tracking_only:
            return Making(sight, plan, fresh=fresh)
        choice = plan.choice
        if choice is self._outdated:
            choice = choice.for_strangers()
        wanted, failed = self._choose(choice, sight, now_s)
        self._strict = _strict(choice, sight.faces)
        clock.lap("choose")
        faces = [
            (face, plan.identities[wanted[face.id]])
            for face in sight.faces
            if wanted.get(face.id) in plan.identities
        ]
        swap = self._swapping.begin(sight.frame.image, faces, plan.strength, plan.quality, now_s)
        clock.lap("swap")
        return Making(sight, plan, wanted, fresh, failed, self._strict, swap)

    def _finish(self, making: Making) -> Output:
        sight, plan, wanted = making.sight, making.plan, making.wanted
        now_s = sight.frame.seconds
        clock = _Clock(sight.stage_ms)
        self._guard.config = plan.guard
        if making.swap is None:
            return self._make_covered(plan, sight, clock)
        image, swapped = self._swapping.finish(making.swap, clock.lap)
        self._note("swap", making.swap)
        evidence = Evidence(
            now_s, sight.faces, wanted.keys(), swapped, sight.looked, sight.doubtful,
            sight.failed or making.failed, making.strict,
        )  # fmt: skip
        verdict = self._guard.judge(evidence)
        if plan.panic:
            verdict = Verdict(False, "panic")
        picture, shown = image, Shown.SWAPPED if wanted else Shown.NOTHING_TO_SWAP
        if not verdict.safe:
            picture, shown = self._curtain.draw(verdict, plan.guard, image, now_s)
        clock.lap("guard")
        if picture is image:
            try:
                self._marking.frame(image)
                self._faults.recovered("mark")
            except Exception as error:  # noqa: BLE001
                self._faults.failed("mark", error)
                verdict = Verdict(False, "stage-failed")
                picture, shown = self._curtain.card(verdict.reason, image), Shown.COVERED
            clock.lap("mark")
        output = Output(sight.frame, picture, sight.faces, tuple(swapped), shown, verdict.reason, clock.laps)
        if verdict.safe:
            self._curtain.remember(picture, now_s)
        return output

    def _make_covered(self, plan: Plan, sight: Sight, clock: _Clock) -> Output:
        """The output while only the tracking runs."""
        reason = "panic" if plan.panic else "tracking-only"
        image = sight.frame.image.copy()
        picture = self._curtain.cover(reason, plan.guard, image)
        if picture is image:
            self._marking.frame(image)
        clock.lap("cover")
        return Output(sight.frame, picture, sight.faces, (), Shown.COVERED, reason, clock.laps)

    def _tracking_quality(self) -> Quality:
        """The controller's hints, with a look at every frame where the guard needs one."""
        plan = self._plan
        if (self._strict or self._guard.wants_look) and not plan.tracking_only:
            return replace(plan.quality, detect_every=1)
        return plan.quality

    def _choose(self, choice: FaceChoice, sight: Sight, now_s: float) -> tuple[Mapping[int, int], bool]:
        if sight.failed:
            return {}, False
        try:
            self._chooser.choice = choice
            chosen = self._chooser.select(sight.faces, now_s)
            self._faults.recovered("choose")
        except Exception as error:  # noqa: BLE001
            self._faults.failed("choose", error)
            return {}, True
        return chosen, False

    def _note(self, stage: str, begun: Begun) -> None:
        for error in begun.errors:
            self._faults.failed(stage, error)
        if begun.jobs and not begun.errors:
            self._faults.recovered(stage)


class _Clock:
    """Adds up wall times of stages, milliseconds."""

    def __init__(self, laps: dict[str, float] | None = None) -> None:
        self.laps: dict[str, float] = {} if laps is None else laps
        self._last = time.perf_counter_ns()

    def lap(self, stage: str) -> None:
        now = time.perf_counter_ns()
        self.laps[stage] = self.laps.get(stage, 0.0) + (now - self._last) / 1e6
        self._last = now


def _strict(choice: FaceChoice, faces: Sequence[Face]) -> bool:
    """True if a face that appears now would be wanted, so that the detector must look at every frame."""
    if choice.which is Which.PERSONS:
        return not choice.sources.keys() <= {face.id for face in faces}
    return choice.which is Which.ALL
