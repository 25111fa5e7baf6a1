"""`kawari bench latency`: delay, drops, order and steadiness of a live session, at 30 and 60 fps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from app.bench.report import Relation, Report, Value
from app.bench.stream import StreamOptions, StreamResult, stream

WARM_UP_S = 3.0
"""Models, filters and the delay controller settle; not counted."""


@dataclass(frozen=True, slots=True)
class Delay:
    """A stream after its warm-up; milliseconds.

    Attributes:
        p50, p95, p99, max: of the delay from a frame's time to its arrival at the sink.
        drops: share of the source's frames that never arrived.
        disorder: pictures that arrived after a newer one.
        jitter: 99th percentile of the deviation of the output's intervals from their median.
        fps: pictures per second that arrived.
        swapped: share of them with a swapped face.
    """

    p50: float
    p95: float
    p99: float
    max: float
    drops: float
    disorder: int
    jitter: float
    fps: float
    swapped: float


def summarise(result: StreamResult, warm_up_s: float = WARM_UP_S) -> Delay | None:
    """Sum a stream up; None if too little arrived.

    Cards, which repeat no frame's number in order, and held pictures count as not swapped.
    """
    arrived = np.asarray(result.arrived_ms)
    late = arrived >= warm_up_s * 1e3
    if late.sum() < 10:
        return None
    delays, ids = np.asarray(result.delays_ms)[late], np.asarray(result.ids)[late]
    times = arrived[late]
    intervals = np.diff(times)
    offered = int(ids.max() - ids.min()) + 1
    p50, p95, p99 = (float(value) for value in np.percentile(delays, (50, 95, 99)))
    return Delay(
        p50,
        p95,
        p99,
        float(delays.max()),
        1 - len(set(ids.tolist())) / offered,
        int((np.diff(ids) < 0).sum()),
        float(np.percentile(np.abs(intervals - np.median(intervals)), 99)),
        len(times) / float(times[-1] - times[0]) * 1e3,
        float(np.asarray(result.swapped)[late].mean()),
    )


def run(seconds: float, rates: Sequence[float], progress: Callable[[str], None]) -> Report:
    """Stream at each rate and compare."""
    report = Report("latency")
    rows: list[list[Value]] = []
    for fps in rates:
        progress(f"{fps:g} fps")
        result = stream(StreamOptions(seconds + WARM_UP_S, fps))
        found = summarise(result)
        name = f"fps{fps:g}"
        if found is None:
            report.figures[f"{name}_p95_ms"] = None
            continue
        rows.append(
            [f"{fps:g}", found.p50, found.p95, found.p99, found.max, found.drops, found.disorder,
             found.jitter, found.fps, found.swapped, str(result.stats["quality"])]
        )  # fmt: skip
        report.figures |= {
            f"{name}_p95_ms": found.p95,
            f"{name}_p99_ms": found.p99,
            f"{name}_drops": found.drops,
            f"{name}_disorder": found.disorder,
            f"{name}_jitter_ms": found.jitter,
            f"{name}_swapped": found.swapped,
        }
    columns = ("fps in", "p50 ms", "p95 ms", "p99 ms", "max ms", "drops", "disorder", "jitter ms", "fps out",
               "swapped", "quality")  # fmt: skip
    report.table("delay from a frame's time to its arrival at the sink, 1280×720", columns, rows)
    for name, relation, threshold in limits(rates):
        report.check(name, relation, threshold)
    report.notes += [
        "jitter: 99th percentile of the output intervals' deviation from their median;",
        "above the machine's own rate frames must be dropped, never delayed.",
    ]
    return report


def limits(rates: Sequence[float]) -> list[tuple[str, Relation, float]]:
    """30 fps is held to the full promise, faster sources to delay, order and a swapped face."""
    found: list[tuple[str, Relation, float]] = []
    for fps in rates:
        name = f"fps{fps:g}"
        found += [(f"{name}_p95_ms", "<=", 60 if fps <= 30 else 100), (f"{name}_p99_ms", "<=", 100)]
        found += [(f"{name}_disorder", "<=", 0), (f"{name}_swapped", ">=", 0.99)]
        if fps <= 30:
            found += [(f"{name}_jitter_ms", "<=", 10), (f"{name}_drops", "<=", 0.005)]
    return found
