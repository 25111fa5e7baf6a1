"""Printing for people and for programs: results on stdout, everything else on stderr."""

from __future__ import annotations

import dataclasses
import enum
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def say(text: str = "") -> None:
    """One line of result."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """One line that is no result: progress, a warning, an error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def print_json(value: object) -> None:
    """A result as one JSON document; dataclasses, enums, tuples and paths become plain values."""
    say(json.dumps(value, indent=2, ensure_ascii=False, default=_plain))


def print_table(rows: Iterable[Sequence[object]], indent: str = "") -> None:
    """Rows in aligned columns."""
    cells = [[str(cell) for cell in row] for row in rows]
    if not cells:
        return
    widths = [max(len(row[i]) for row in cells if i < len(row)) for i in range(max(map(len, cells)))]
    for row in cells:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        say(f"{indent}{line}".rstrip())


def _plain(value: object) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "item"):  # NumPy's scalars
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")
