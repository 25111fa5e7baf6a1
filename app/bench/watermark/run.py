"""`kawari bench watermark`: what survives, what it costs, what is seen of it, and false alarms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.bench.report import Report
from app.bench.watermark import alarms, jobs, robustness, speed, visibility

NOTES = (
    "read in 60, in 15: windows of so many frames whose payload was read right; z: the peak's height in",
    "standard deviations; flicker: unrest of 16×16 blocks from frame to frame, output over input; largest",
    "step: levels by which any value of a still scene changes; lag: strength on flat parts over that of a",
    "stream that begins there (99th percentile); alarm rate: expected of the fitted tail, by z alone or by a",
    "lower z with a CRC that fits by chance.",
)


def run(
    data: Path, processes: int, quick: bool, resume: Path | None, progress: Callable[[str], None]
) -> Report:
    """Measure everything.

    Args:
        data: folder with videos/ and images/.
        processes: that work at once.
        quick: two clips, few windows, in a minute or two: shows that the bench works, not the figures.
        resume: see `app.bench.watermark.jobs.run`.
        progress: called with a word on how far it has come.
    """
    report = Report("watermark")
    progress("speed")
    speed.measure(report)
    parts = (
        (visibility.summarise, visibility.jobs(data, quick)),
        (robustness.summarise, robustness.jobs(data / "videos", quick)),
        (alarms.summarise, alarms.jobs(data, quick)),
    )
    done = jobs.run([job for _, mine in parts for job in mine], processes, resume, progress)
    for summarise, mine in parts:
        summarise([row for job in mine for row in done[job.name]], report)
    report.notes += NOTES
    return report.finish()
