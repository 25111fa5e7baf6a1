"""`kawari bench soak`: hours in small. Memory, threads, handles and delay of a long live session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.bench.report import Report
from app.bench.stream import Sample, StreamOptions, StreamResult, stream

CLIP = "clm_franck.webm"
"""200 s of a talking head; looped."""
WARM_UP, LONGEST_WARM_UP_S = 0.5, 300
"""Share of the time after which caches, allocator and decoder hold all they will ever need, and its limit."""
SAMPLES = 240
"""At most so many, or the samples themselves would be growth."""
REHEARSAL_S = 3.0
SPANS = 12
"""The memory's slope is taken through the medians of so many spans."""
LONG_S = 900
"""From this length on a run can tell 1 % an hour: of 320 MiB that is 1 MiB in 20 minutes."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How the resident memory changed after the warm-up.

    Attributes:
        slope, low, high: percent an hour, and its 95 % interval.
        gained: of the last span over the first, percent.
    """

    slope: float
    low: float
    high: float
    gained: float


def growth(samples: Sequence[Sample]) -> Growth:
    """Theil–Sen's slope (Sen 1968) through the medians of `SPANS` equal spans, and its interval.

    The slope is the median of the slopes of all pairs, so that a single step of the allocator does not
    pass for a trend. Spans, not samples: neighbouring samples are nearly the same, and counted as
    independent they would make the interval far too narrow.
    """
    from scipy.stats import theilslopes

    spans = np.array_split(np.array([(one.seconds, one.memory_mb) for one in samples]), SPANS)
    times, memory = np.array([np.median(span, axis=0) for span in spans if len(span)]).T
    slope, _, low, high = theilslopes(memory, times, 0.95)
    scale = 3600 / float(np.median(memory)) * 100
    gained = (memory[-1] / memory[0] - 1) * 100
    return Growth(float(slope) * scale, float(low) * scale, float(high) * scale, float(gained))


def delays(result: StreamResult, warm_s: float) -> tuple[float, float]:
    """The delay in the first and in the last third after the warm-up: the lower decile, milliseconds.

    Other work on the machine delays some frames, and differently from minute to minute; a queue that
    grows delays all of them.
    """
    times, all_ms = np.asarray(result.arrived_ms), np.asarray(result.delays_ms)
    third = (times[-1] - warm_s * 1e3) / 3
    first = (times >= warm_s * 1e3) & (times < warm_s * 1e3 + third)
    return float(np.percentile(all_ms[first], 10)), float(
        np.percentile(all_ms[times >= times[-1] - third], 10)
    )


def run(minutes: float, clip: Path | None, progress: Callable[[str], None]) -> Report:
    """Stream for `minutes` and compare the end with the beginning."""
    report = Report("soak")
    seconds = minutes * 60
    progress(f"{minutes:g} minutes")
    sample_s = max(1.0, seconds / SAMPLES)
    result = stream(StreamOptions(seconds, 30, str(clip) if clip else None, sample_s, REHEARSAL_S))
    warm = min(seconds * WARM_UP, LONGEST_WARM_UP_S)
    steady = [one for one in result.samples if one.seconds >= warm]
    memory = growth(steady)
    start_ms, end_ms = delays(result, warm)
    # by the frames' times: a source that was opened again counts its frames anew
    taken = np.asarray(result.arrived_ms) - np.asarray(result.delays_ms)
    before, after = result.before, result.after
    assert before is not None
    assert after is not None
    report.table(
        "the process",
        ("time s", "memory MiB", "threads", "handles"),
        [
            (f"{one.seconds:.0f}", one.memory_mb, one.threads, one.handles)
            for one in (before, *result.samples[:: max(len(result.samples) // 24, 1)], after)
        ],
    )
    report.figures |= {
        "memory_percent_per_hour": memory.slope,
        "memory_percent_per_hour_at_least": memory.low,
        "memory_percent_per_hour_at_most": memory.high,
        "memory_gained_percent": memory.gained,
        "memory_mb": max(one.memory_mb for one in result.samples),
        "threads_gained": steady[-1].threads - steady[0].threads,
        "handles_gained": steady[-1].handles - steady[0].handles,
        "threads_left": len(result.left),
        "handles_left": after.handles - before.handles,
        "delay_start_ms": start_ms,
        "delay_end_ms": end_ms,
        "delay_end_over_start": end_ms / start_ms,
        "disorder": int((np.diff(taken) < -1e-3).sum()),
        "restarts": sum(result.stats["restarts"].values()),
        "frames": len(result.ids),
        "swapped": float(np.mean(result.swapped)),
    }
    if report.figures["restarts"]:
        # on a starved machine a stage may count as stuck: for a while there are two sets of models
        report.check("memory_gained_percent", "<=", 15)
    elif seconds >= LONG_S:
        report.check("memory_percent_per_hour", "<=", 1)
    else:
        report.check("memory_gained_percent", "<=", 2)
    for name in ("threads_gained", "handles_gained", "threads_left", "handles_left", "disorder"):
        report.check(name, "<=", 0)
    report.check("delay_end_over_start", "<=", 1.3)
    report.notes += [
        f"memory: Theil–Sen's slope through the medians of {SPANS} spans after a warm-up of {warm:.0f} s,",
        f"with its 95 % interval; less than {LONG_S // 60} minutes can't tell 1 % an hour and are judged by",
        "the gain from the first span to the last. delay: lower deciles of the first and the last third.",
    ]
    return report
