"""`kawari bench soak`: hours in small. Memory, threads, handles and delay of a long live session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from app.bench.report import Report
from app.bench.stream import Sample, StreamOptions, stream

CLIP = "clm_franck.webm"
"""200 s of a talking head; looped."""
WARM_UP, LONGEST_WARM_UP_S = 0.5, 300
"""Share of the time after which caches, allocator and decoder hold all they will ever need."""
SAMPLES = 240
"""At most so many, or the samples themselves would be growth."""
REHEARSAL_S = 3.0
PARTS = 10
"""The delay of the last tenth is compared with that of the first tenth after the warm-up."""


def growth(samples: Sequence[Sample]) -> tuple[float, float]:
    """Growth of the resident memory, percent an hour: Theil–Sen's slope and its 95 % lower bound.

    The slope is the median of the slopes of all pairs (Sen 1968), so that single steps of the
    allocator do not pass for a trend; its bound tells a trend from noise in a short run.
    """
    from scipy.stats import theilslopes

    memory = np.array([one.memory_mb for one in samples])
    slope, _, low, _ = theilslopes(memory, np.array([one.seconds for one in samples]), 0.95)
    scale = 3600 / float(np.median(memory)) * 100
    return float(slope) * scale, float(low) * scale


def run(minutes: float, clip: Path | None, progress: Callable[[str], None]) -> Report:
    """Stream for `minutes` and compare the end with the beginning."""
    report = Report("soak")
    seconds = minutes * 60
    progress(f"{minutes:g} minutes")
    sample_s = max(1.0, seconds / SAMPLES)
    result = stream(StreamOptions(seconds, 30, str(clip) if clip else None, sample_s, REHEARSAL_S))
    warm = min(seconds * WARM_UP, LONGEST_WARM_UP_S)
    steady = [one for one in result.samples if one.seconds >= warm]
    slope, low = growth(steady)
    times, delays = np.asarray(result.arrived_ms), np.asarray(result.delays_ms)
    length = (seconds - warm) * 1e3 / PARTS
    first = delays[(times >= warm * 1e3) & (times < warm * 1e3 + length)]
    last = delays[times >= times[-1] - length]
    before, after = result.before, result.after
    assert before is not None
    assert after is not None
    report.table(
        "the process",
        ("time s", "memory MiB", "threads", "handles"),
        [
            (f"{one.seconds:.0f}", one.memory_mb, one.threads, one.handles)
            for one in (before, *steady[:: max(len(steady) // 12, 1)], after)
        ],
    )
    report.figures |= {
        "memory_percent_per_hour": slope,
        "memory_percent_per_hour_at_least": low,
        "memory_mb": max(one.memory_mb for one in result.samples),
        "threads_gained": steady[-1].threads - steady[0].threads,
        "handles_gained": steady[-1].handles - steady[0].handles,
        "threads_left": len(result.left),
        "handles_left": after.handles - before.handles,
        "delay_start_ms": float(np.median(first)),
        "delay_end_ms": float(np.median(last)),
        "delay_end_over_start": float(np.median(last) / np.median(first)),
        "disorder": int((np.diff(result.ids) < 0).sum()),
        "frames": len(result.ids),
        "swapped": float(np.mean(result.swapped)),
    }
    report.check("memory_percent_per_hour_at_least", "<=", 1)
    for name in ("threads_gained", "handles_gained", "threads_left", "handles_left", "disorder"):
        report.check(name, "<=", 0)
    report.check("delay_end_over_start", "<=", 1.2)
    report.notes += [
        "memory growth: Theil–Sen slope after the warm-up; `at least` is its 95 % lower bound, which alone",
        "tells growth from noise in a run of minutes.",
    ]
    return report
