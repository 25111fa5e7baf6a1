"""How often pictures without a mark are taken for marked ones.

None of tens of thousands says little about one in a million, so a tail is fitted to z as well: above
a high quantile u, z − u is taken to be exponential (the generalised Pareto distribution of shape 0,
to which light tails converge: Coles, An Introduction to Statistical Modeling of Extreme Values,
2001, section 4.2), which is on the safe side as z's true tail falls faster.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.bench.report import Report, Value
from app.bench.watermark.jobs import Job, Row
from app.bench.watermark.robustness import SHORT
from app.bench.watermark.unmarked import DRAWN, Window, clip_windows, photo_windows
from engine.mark.detector import POSSIBLE, SURE, TRIED, Detector, Finding, Verdict

CLIP_WINDOWS = 60
"""Windows of a clip and size at most."""
BATCH, BATCHES, PHOTO_BATCHES = 250, 18, 11
"""Windows of a job, jobs of each kind but clips, and those of photos, which take longest."""
THOROUGH = 1000
"""One window in so many is searched in every geometry, which takes seconds."""
CRC_PASSES = TRIED / 2**24
"""Chance that some wrong payload's CRC-24 fits."""
_TAIL, _LEAST = 0.05, 40
"""Share of the values that make the tail, and how many at least."""
KINDS = ("clips", "photos", *DRAWN)


def jobs(data: Path, quick: bool) -> list[Job]:
    """One for each clip and size, and some of each other kind."""
    made = []
    for path in sorted((data / "videos").iterdir()):
        if path.name.startswith("d_") or (quick and not path.name.startswith("lp_d20")):
            continue  # those are made from others of the same folder
        made += [
            Job(f"unmarked {path.name} at {height or 'its size'}", clips, (path, height))
            for height in ((None,) if quick else (None, 720))
        ]
    for kind in KINDS[1:]:
        batches = PHOTO_BATCHES if kind == "photos" else BATCHES
        for batch in range(1 if quick else batches):
            count = BATCH // 5 if quick else BATCH
            made.append(Job(f"unmarked {kind} {batch}", drawn, (kind, data / "images", batch, count)))
    return made


def clips(path: Path, height: int | None) -> list[Row]:
    """z of a clip's windows."""
    return list(_rows("clips", itertools.islice(clip_windows(path, SHORT, height), CLIP_WINDOWS)))


def drawn(kind: str, photos: Path, seed: int, count: int) -> list[Row]:
    """z of windows of another kind."""
    windows = photo_windows(photos, seed) if kind == "photos" else DRAWN[kind](seed)
    return list(_rows(kind, itertools.islice(windows, count), seed * count))


def _rows(kind: str, windows: Iterator[Window], first: int = 0) -> Iterator[Row]:
    for index, window in enumerate(windows, first):
        detector = Detector()
        for image in window:
            detector.feed(image)
        yield _row(kind, detector.find(thorough=False), thorough=False)
        if index % THOROUGH == 0:
            yield _row(kind, detector.find(), thorough=True)


def _row(kind: str, finding: Finding, *, thorough: bool) -> Row:
    alarm, doubt = (finding.verdict is verdict for verdict in (Verdict.PRESENT, Verdict.UNCERTAIN))
    return {"kind": kind, "thorough": thorough, "z": round(finding.z, 3), "alarm": alarm, "doubt": doubt}


@dataclass(frozen=True, slots=True)
class Tail:
    """An exponential tail.

    Attributes:
        above: where it begins.
        scale: mean excess over that.
        share: part of all values that lie above.
    """

    above: float
    scale: float
    share: float

    def rate(self, z: float) -> float:
        """The part of all values expected above z."""
        return float(self.share * np.exp(-(z - self.above) / self.scale))


def fit(values: Sequence[float]) -> Tail:
    """The tail by maximum likelihood."""
    z = np.asarray(values)
    above = float(np.quantile(z, max(1 - max(_TAIL, _LEAST / len(z)), 0.5)))
    excess = z[z > above] - above
    return Tail(above, float(excess.mean()), len(excess) / len(z))


def summarise(rows: Sequence[Row], report: Report) -> None:
    """Table by kind and search, fitted tails, and the figures to judge."""
    table: list[list[Value]] = []
    for thorough in (False, True):
        for kind in (*KINDS, "all"):
            mine = [row for row in rows if row["thorough"] == thorough and kind in (row["kind"], "all")]
            z = [row["z"] for row in mine]
            tail = fit(z)
            table.append(
                [
                    f"{kind}, every geometry" if thorough else kind,
                    len(mine),
                    sum(row["alarm"] for row in mine),
                    sum(row["doubt"] for row in mine),
                    max(z),
                    tail.above,
                    tail.scale,
                    rate(tail),
                ]
            )
            if kind == "all":
                report.figures["alarm_rate_thorough" if thorough else "alarm_rate"] = rate(tail)
    columns = ("unmarked", "windows", "alarms", "uncertain", "most z", "tail from", "scale", "alarm rate")
    report.table("false alarms", columns, table)
    quick = [row for row in rows if not row["thorough"]]
    report.figures |= {
        "unmarked_windows": len(quick),
        "false_alarms": sum(row["alarm"] for row in rows),
        "uncertain": sum(row["doubt"] for row in rows),
    }
    report.check("false_alarms", "<=", 0)
    report.check("alarm_rate", "<=", 1e-6)


def rate(tail: Tail) -> float:
    """Expected share of false alarms: by z alone, or by a lower z and a payload that fits by chance."""
    return tail.rate(SURE) + tail.rate(POSSIBLE) * CRC_PASSES
