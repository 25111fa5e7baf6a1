"""Printing for people and for programs: results on stdout, everything else on stderr."""

from __future__ import annotations

import dataclasses
import enum
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def say(text: str = "") -> None:
    """One line of result."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """One line that is no result: progress, a warning, an error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def to_json(value: object) -> str:
    """A JSON document; dataclasses, enums, tuples and paths become plain values."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=_plain)


def write_json(path: Path, value: object) -> None:
    """A JSON file, all or nothing.

    Raises:
        UsageError: there is no such folder.
        DeviceError: it can't be written.
    """
    from engine.atomic import replacing

    with replacing(path.absolute()) as partial:
        partial.write_text(to_json(value) + "\n", encoding="utf-8")


def print_json(value: object) -> None:
    """A result as one JSON document."""
    say(to_json(value))


def print_table(rows: Iterable[Sequence[object]], indent: str = "") -> None:
    """Rows in aligned columns."""
    cells = [[str(cell) for cell in row] for row in rows]
    if not cells:
        return
    widths = [max(len(row[i]) for row in cells if i < len(row)) for i in range(max(map(len, cells)))]
    for row in cells:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        say(f"{indent}{line}".rstrip())


class Progress:
    """A bar of frames on stderr, if that is a terminal."""

    def __init__(self) -> None:
        from tqdm import tqdm

        self._bar = tqdm(unit="frame", disable=None, leave=False)

    def __call__(self, done: int, total: int | None) -> None:
        """So many frames are done, of so many if that is known."""
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()


class StatusLine:
    """One line on the terminal that is written over and over; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        self._on = sys.stderr.isatty()

    def show(self, text: str) -> None:
        """Replace the line."""
        if self._on:
            sys.stderr.write(f"\r\033[K{text}")
            sys.stderr.flush()

    def __enter__(self) -> StatusLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.show("")


def as_dict(value: DataclassInstance) -> dict[str, Any]:
    """The fields of a dataclass, not those of what is in them."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _plain(value: object) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return as_dict(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "item"):  # NumPy's scalars
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")
