"""`kawari bench load`: what the controller does about a dearer swap, and about others on the processor."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.bench.report import Report, Value
from app.bench.stream import StreamOptions, StreamResult, stream
from engine.config import DelayConfig

FPS = 30
QUIET_S = 8.0
"""Before the load begins; the first seconds, in which everything settles, are not counted."""
SETTLE_S = 3.0
"""Time in which the delay must be back under the budget."""
ROOM = 2.5
"""The budget is at least so many times the quiet delay's median: on a slow or busy machine 100 ms mean
nothing."""
DEAR = 0.8
"""A frame at the best quality then takes so much of the budget. With the wait for the frame before, which
is as long again while frames come faster than they are made, that is above it. A frame that takes longer
than the budget by itself is beyond the ladder: it saves a seventh of the mesh's work, the rest by rate."""
HOGS_PER_CORE = 1
"""The session then has half of its core, or less."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a session did about a load.

    Attributes:
        back_s: from the beginning of the load to the moment from which on 95 % of the frames kept the
            budget; None if that never came.
        moves: steps that the controller took after `SETTLE_S`.
        p95_ms: delay after `SETTLE_S`; `before_ms` without the load.
        fps: pictures a second after `SETTLE_S`.
        step: the ladder's at the end, 0 for the best.
    """

    back_s: float | None
    moves: int
    before_ms: float
    p95_ms: float
    fps: float
    step: int


def answer(result: StreamResult, budget_ms: float) -> Answer:
    """Judge a stream under a load that did not change."""
    times, delays = np.asarray(result.arrived_ms), np.asarray(result.delays_ms)
    since = (times - result.loaded_ms) / 1e3
    quiet = delays[(times > SETTLE_S * 1e3) & (since < 0)]
    moves = (np.asarray(result.moves_ms) - result.loaded_ms) / 1e3
    late = since >= SETTLE_S
    return Answer(
        _back(since, delays, budget_ms),
        int((moves >= SETTLE_S).sum()),
        float(np.percentile(quiet, 95)),
        float(np.percentile(delays[late], 95)),
        float(late.sum() / (since[-1] - SETTLE_S)),
        result.steps[-1] if result.steps else 0,
    )


def _back(since: np.ndarray, delays: np.ndarray, budget_ms: float) -> float | None:
    """The first moment of the load from which on at most one frame in twenty is over the budget."""
    loaded = since >= 0
    over = delays[loaded] > budget_ms
    share = np.cumsum(over[::-1])[::-1] / np.arange(len(over), 0, -1)
    kept = np.flatnonzero(share <= 0.05)
    # the last frames alone prove nothing
    if not len(kept) or kept[0] > len(over) / 2:
        return None
    return float(since[loaded][kept[0]]) if kept[0] else 0.0


def run(seconds: float, progress: Callable[[str], None]) -> Report:
    """A quiet stream, one whose swapper becomes dearer, one beside processes that use up every core."""
    report = Report("load")
    progress("quiet")
    quiet = stream(StreamOptions(QUIET_S + SETTLE_S, FPS))
    delay = float(
        np.percentile(np.asarray(quiet.delays_ms)[np.asarray(quiet.arrived_ms) > SETTLE_S * 1e3], 95)
    )
    budget = max(DelayConfig().budget_ms, ROOM * delay)
    dear = DEAR * budget
    loads = {
        "dearer": StreamOptions(
            QUIET_S + seconds, FPS, load_after_s=QUIET_S, budget_ms=budget, frame_ms=dear
        ),
        "hogs": StreamOptions(
            QUIET_S + seconds, FPS, load_after_s=QUIET_S, budget_ms=budget,
            hogs=HOGS_PER_CORE * (os.cpu_count() or 1),
        ),
    }  # fmt: skip
    rows: list[list[Value]] = []
    for name, options in loads.items():
        progress(name)
        result = stream(options)
        found = answer(result, budget)
        rows.append([name, found.before_ms, found.p95_ms, found.back_s, found.moves, found.fps, found.step,
                     " ".join(f"{(at - result.loaded_ms) / 1e3:.1f}s→{step}"
                              for at, step in zip(result.moves_ms, result.steps, strict=True))])  # fmt: skip
        report.figures |= {
            f"{name}_back_s": found.back_s,
            f"{name}_moves": found.moves,
            f"{name}_p95_over_budget": found.p95_ms / budget,
            f"{name}_step": found.step,
            f"{name}_swaps_a_frame": result.swaps,
        }
        report.check(f"{name}_back_s", "<=", SETTLE_S)
        report.check(f"{name}_moves", "<=", 2 * max(seconds / 60, 1))
        report.check(f"{name}_p95_over_budget", "<=", 1)
    report.figures |= {"budget_ms": budget, "quiet_p50_ms": delay}
    columns = ("load", "p95 before", "p95 after", "back after s", "moves", "fps after", "step", "moves at")
    report.table(f"30 frames a second, budget {budget:.0f} ms, the load lasts {seconds:g} s", columns, rows)
    report.notes += [
        f"back: from then on 95 % of the frames keep the budget; p95, moves: after {SETTLE_S:g} s of load;",
        "dearer: each swap is made several times over; hogs: a busy process for each core.",
    ]
    return report
