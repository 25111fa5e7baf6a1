"""Sums the quality bench's results up in one report."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.bench.measures import mean
from app.bench.quality import ClipResult
from app.bench.report import Relation, Report, Value
from app.bench.score import PairFigures

THRESHOLDS: tuple[tuple[str, Relation, float], ...] = (
    ("nearer", ">=", 0.95),
    ("gap", ">=", 0.60),
    ("mouth", ">=", 0.98),
    ("eyes", ">=", 0.85),
    ("error", "<=", 0.025),
    ("jitter", "<=", 0.0006),
    ("flicker", "<=", 1.0),
    ("lost", "<=", 0.0),
)
SHOWN = ("nearer", "nearer_same", "gap", "mouth", "eyes", "error", "flicker")
NOTES = (
    "nearer: share of frames nearer to other photos of the source person than to other frames of the target;",
    "nearer_same: the same, but against the very frame that was swapped; gap: identity gap closed;",
    "mouth, eyes: Pearson's r of openings, – where the clip hardly moves them; error, jitter: over the",
    "inter-ocular distance; flicker: output over input; lost: faces the detector sees that were not swapped.",
)


def summarise(results: Sequence[ClipResult]) -> Report:
    """Per-clip and per-source tables, and the verdict.

    The verdict's figures are means over all pairs of clip and source person in which the figure
    could be measured (frames lost: the sum; flicker: the median of the ratios, as one clip without
    any flicker of its own would outweigh the others); the worst pair stands beside them.
    """
    report = Report("quality")
    every = [figures for one in results for figures in one.pairs.values()]
    rows: list[list[Value]] = [
        [
            one.name,
            one.frames,
            *(mean([getattr(figures, name) for figures in one.pairs.values()]) for name in SHOWN),
            one.jitter,
            one.lost,
        ]
        for one in results
    ]
    report.table("by clip", ("clip", "frames", *SHOWN, "jitter", "lost"), rows)
    names = sorted({name for one in results for name in one.pairs})
    report.table(
        "by source person",
        ("source", *SHOWN),
        [
            [
                name,
                *(mean([getattr(one.pairs[name], f) for one in results if name in one.pairs]) for f in SHOWN),
            ]
            for name in names
        ],
    )
    for name in SHOWN:
        values = measured(every, name)
        report.figures[name] = middle(name, values)
        if values:
            low = name in ("error", "flicker")
            report.figures[f"{name}_worst"] = max(values) if low else min(values)
    report.figures["jitter"] = mean([one.jitter for one in results])
    report.figures["lost"] = sum(one.lost for one in results)
    report.figures["detected"] = sum(one.detected for one in results)
    report.figures["frames"] = sum(one.frames for one in results)
    for name, relation, threshold in THRESHOLDS:
        report.check(name, relation, threshold)
    report.notes += NOTES
    return report


def measured(pairs: Sequence[PairFigures], name: str) -> list[float]:
    """One figure of all pairs that have it."""
    return [value for pair in pairs if (value := getattr(pair, name)) is not None]


def middle(name: str, values: Sequence[float]) -> float | None:
    """Mean, or median for ratios; None of nothing."""
    if not values:
        return None
    return float(np.median(values) if name == "flicker" else np.mean(values))
