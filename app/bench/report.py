"""One form for every bench's result: tables for people, JSON for programs, checks for CI.

The JSON schema is stable; `version` counts its incompatible changes:

    {"version": 1, "bench": "quality", "passed": true, "seconds": 61.2, "host": {…},
     "figures": {"gap_closed": 0.64, …},
     "checks": [{"figure": "gap_closed", "value": 0.64, "relation": ">=", "threshold": 0.6,
                 "passed": true}, …],
     "tables": [{"title": "…", "columns": ["clip", …], "rows": [["lp_s18_720p", 0.97, …], …]}, …],
     "notes": ["…", …]}

A figure that could not be measured is null; its check then fails, since a claim without a
measurement is none.
"""

from __future__ import annotations

import math
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Value = float | int | str | None
Relation = Literal["<=", ">="]
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under column names; numbers are formatted when printed."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def lines(self) -> list[str]:
        """The table as aligned text."""
        cells = [list(self.columns)] + [[show(value) for value in row] for row in self.rows]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        text = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in cells
        ]
        return [self.title, text[0], "-" * len(text[0]), *text[1:], ""]


@dataclass(frozen=True, slots=True)
class Check:
    """A figure held against its threshold."""

    figure: str
    value: float | None
    relation: Relation
    threshold: float

    @property
    def passed(self) -> bool:
        """False as well when there is no value."""
        if self.value is None or math.isnan(self.value):
            return False
        return self.value >= self.threshold if self.relation == ">=" else self.value <= self.threshold


@dataclass(slots=True)
class Report:
    """What a bench found; filled while it runs."""

    bench: str
    figures: dict[str, Value] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    seconds: float | None = None

    def check(self, figure: str, relation: Relation, threshold: float) -> None:
        """Hold a figure that is already in `figures` against a threshold."""
        value = self.figures.get(figure)
        number = float(value) if isinstance(value, float | int) else None
        self.checks.append(Check(figure, number, relation, threshold))

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> None:
        """Add a table."""
        self.tables.append(Table(title, tuple(columns), tuple(tuple(row) for row in rows)))

    def finish(self) -> Report:
        """Note how long it took."""
        self.seconds = time.monotonic() - self.started
        return self

    @property
    def passed(self) -> bool:
        """True if every check holds."""
        return all(check.passed for check in self.checks)

    def text(self) -> str:
        """For people."""
        lines: list[str] = []
        for table in self.tables:
            lines += table.lines()
        named = {check.figure for check in self.checks}
        rest = [(name, value) for name, value in self.figures.items() if name not in named]
        if rest:
            lines += Table("other figures", ("figure", "value"), tuple(rest)).lines()
        if self.checks:
            verdict = Table(
                "verdict",
                ("figure", "value", "must be", ""),
                tuple(
                    (c.figure, c.value, f"{c.relation} {show(c.threshold)}", "ok" if c.passed else "MISSED")
                    for c in self.checks
                ),
            )
            lines += verdict.lines()
        lines += self.notes
        missed = sum(not check.passed for check in self.checks)
        outcome = f"{missed} of {len(self.checks)} missed" if missed else f"all {len(self.checks)} hold"
        lines.append(f"{self.bench}: {outcome}")
        return "\n".join(lines)

    def json(self) -> dict[str, Any]:
        """For programs; see the module's docstring."""
        return {
            "version": SCHEMA,
            "bench": self.bench,
            "passed": self.passed,
            "seconds": plain(self.seconds),
            "host": host(),
            "figures": {name: plain(value) for name, value in self.figures.items()},
            "checks": [
                {
                    "figure": c.figure,
                    "value": plain(c.value),
                    "relation": c.relation,
                    "threshold": c.threshold,
                    "passed": c.passed,
                }
                for c in self.checks
            ],
            "tables": [
                {
                    "title": t.title,
                    "columns": list(t.columns),
                    "rows": [[plain(value) for value in row] for row in t.rows],
                }
                for t in self.tables
            ],
            "notes": list(self.notes),
        }


def plain(value: Value) -> Value:
    """A value JSON can hold: NaN and infinities become null."""
    if isinstance(value, float):
        return round(float(value), 6) if math.isfinite(value) else None
    return value


def show(value: Value) -> str:
    """A value for a table: four significant digits, `–` for what was not measured."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def host() -> dict[str, Value]:
    """What the bench ran on; nothing that names the machine or its owner."""
    import cv2
    import numpy as np
    import onnxruntime as ort

    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "opencv": cv2.__version__,
        "onnxruntime": ort.__version__,
    }
