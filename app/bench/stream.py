"""A live session in a process of its own: `python -m app.bench.stream OPTIONS`, OPTIONS as JSON.

It runs the product's session, mesh swapper, guard and marks on a paced source, and prints one
line of JSON. Nothing else runs in the process, so that delays are the session's alone.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import KawariError

if TYPE_CHECKING:
    from engine.events import Event
    from engine.live.session import Session
    from engine.sources.base import Source

STOP_S = 180
"""How long the process may take beyond the stream's own time: start, rehearsal and stop on a busy machine."""


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """What to stream.

    Attributes:
        seconds: for how long.
        fps: of the source; a clip has its own.
        clip: looped; the moving portrait at 1280×720 if None.
        sample_s: seconds between two samples of memory, threads and handles.
        rehearsal_s: length of a session before the one that counts, so that what a process opens
            once is not taken for what a session leaves.
        load_after_s: when the load begins.
        frame_ms: the load: swaps are made again until a frame takes this long, as its parts took before.
        hogs: the load: processes that use up the processor.
        budget_ms: the delay budget; frames older than twice that are dropped.
    """

    seconds: float
    fps: float
    clip: str | None = None
    sample_s: float = 1.0
    rehearsal_s: float = 0.0
    load_after_s: float = math.inf
    frame_ms: float = 0.0
    hogs: int = 0
    budget_ms: float = 100.0


@dataclass(frozen=True, slots=True)
class Sample:
    """The process at one moment.

    Attributes:
        seconds: since the start.
        memory_mb: resident, MiB.
        threads: of the process.
        handles: open files (Linux, macOS) or handles (Windows).
    """

    seconds: float
    memory_mb: float
    threads: int
    handles: int


@dataclass(slots=True)
class StreamResult:
    """What was seen.

    Attributes:
        ids: frame numbers in the order in which they arrived at the sink.
        delays_ms: from the frame's time to its arrival.
        arrived_ms: time of arrival since the first one.
        loaded_ms: when the load began, on the same clock.
        swaps: times each swap was made under the load.
        moves_ms, steps: when the controller changed its step, on the same clock, and to which.
        swapped: whether each showed a swapped face.
        samples: while it ran.
        before, after: one sample before the session was made, one after it had stopped.
        left: names of the session's threads that still ran then.
        stats: the session's own figures at the end.
    """

    ids: list[int] = field(default_factory=list)
    delays_ms: list[float] = field(default_factory=list)
    arrived_ms: list[float] = field(default_factory=list)
    loaded_ms: float = math.inf
    swaps: int = 1
    moves_ms: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    swapped: list[bool] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    before: Sample | None = None
    after: Sample | None = None
    left: list[str] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)


def stream(options: StreamOptions) -> StreamResult:
    """Run it in a fresh process and wait for the result."""
    done = subprocess.run(
        [sys.executable, "-m", "app.bench.stream", json.dumps(asdict(options))],
        cwd=Path(__file__).resolve().parents[2],
        stdout=subprocess.PIPE,
        text=True,
        timeout=options.seconds + options.rehearsal_s + STOP_S,
        check=False,
    )
    if done.returncode:
        raise KawariError(
            f"The bench's streaming process ended with {done.returncode}", "See its message above"
        )
    found = json.loads(done.stdout)
    for name in ("before", "after"):
        found[name] = Sample(**found[name])
    found["samples"] = [Sample(**one) for one in found["samples"]]
    return StreamResult(**found)


def child(options: StreamOptions) -> StreamResult:
    """What the fresh process does."""
    if options.rehearsal_s:
        run_session(replace(options, seconds=options.rehearsal_s))
    return run_session(options)


def run_session(options: StreamOptions) -> StreamResult:
    """One session from start to stop."""
    from app.bench.arrivals import NotingSink
    from app.bench.burden import DearerSwapper, Hogs
    from app.bench.making import maker, marker
    from engine.config import DelayConfig, SessionConfig
    from engine.live.session import Session

    made, hogs = maker(), Hogs()
    swapper = DearerSwapper(made.swapper) if options.frame_ms else made.swapper
    sink = NotingSink(round(options.seconds * (options.fps + 30)) + 100)
    result = StreamResult(before=sample(0))
    delay = DelayConfig(options.budget_ms, 2 * options.budget_ms)
    session = Session(
        SessionConfig(delay=delay), source_of(options), [sink],
        identity=made.identity, swapper=swapper, marker=marker(made.swapper.name),
    )  # fmt: skip
    moves: list[Event] = []
    session.subscribe(lambda event: moves.append(event) if event.kind == "quality" else None)

    def burden() -> None:
        result.loaded_ms = time.monotonic_ns() / 1e6
        if isinstance(swapper, DearerSwapper):
            took = {name: found.p50 for name, found in session.stats().stages.items()}
            swapper.more = max(round((options.frame_ms - sum(took.values())) / took["swap"]), 1)
            result.swaps = swapper.more + 1
        hogs.start(options.hogs)

    try:
        with session:
            _watch(session, options, result, burden)
            stats = session.stats().as_dict()
    finally:
        hogs.stop()
    result.after = sample(options.seconds)
    result.left = [one.name for one in threading.enumerate() if one.name.startswith("kawari")]
    keep = (
        "stages",
        "frames_in",
        "frames_out",
        "drops",
        "guard",
        "errors",
        "quality",
        "quality_moves",
        "restarts",
    )
    result.stats = {name: stats[name] for name in keep}
    count = min(sink.count, len(sink.ids))
    result.ids = sink.ids[:count].tolist()
    result.delays_ms = ((sink.arrived_ns - sink.captured_ns)[:count] / 1e6).tolist()
    first_ms = sink.arrived_ns[0] / 1e6
    result.arrived_ms = (sink.arrived_ns[:count] / 1e6 - first_ms).tolist()
    result.loaded_ms -= first_ms
    result.moves_ms = [event.at_ns / 1e6 - first_ms for event in moves]
    result.steps = [int(event.data["step"]) for event in moves]
    result.swapped = sink.swapped[:count].tolist()
    return result


def _watch(
    session: Session, options: StreamOptions, result: StreamResult, burden: Callable[[], None]
) -> None:
    began, loaded = time.monotonic(), False
    while (passed := time.monotonic() - began) < options.seconds:
        if passed >= options.load_after_s and not loaded:
            loaded = True
            burden()
        if session.wait(min(options.sample_s, options.seconds - passed)) is not None:
            raise RuntimeError(f"the session ended by itself: {session.reason}, {session.error}")
        result.samples.append(sample(time.monotonic() - began))


def sample(seconds: float) -> Sample:
    """This process now."""
    import psutil

    process = psutil.Process()
    handles = process.num_handles() if sys.platform == "win32" else process.num_fds()
    return Sample(seconds, process.memory_info().rss / 2**20, process.num_threads(), handles)


def source_of(options: StreamOptions) -> Source:
    """The clip, looped at its own pace, or the moving portrait."""
    if options.clip is not None:
        from engine.sources.file import FileSource

        return FileSource(options.clip, loop=True, realtime=True)
    from app.bench.pipeline import LOOP, MAIN
    from engine.sources.paced import PacedSource

    return PacedSource([frame.image for frame in MAIN.frames(2 * LOOP)], options.fps)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(child(StreamOptions(**json.loads(sys.argv[1]))))))
