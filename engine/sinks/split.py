"""When a recording goes on in a new file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import UsageError

if TYPE_CHECKING:
    from engine.sinks.recording import Recording

_SECONDS = {"s": 1, "min": 60, "h": 3600}
_BYTES = {"MB": 10**6, "GB": 10**9}
_LEAST_S, _LEAST_BYTES = 1.0, 10**6


@dataclass(frozen=True, slots=True)
class Split:
    """How long or large a file may become.

    Attributes:
        seconds: at most; None for any length.
        bytes: at most; None for any size.
    """

    seconds: float | None = None
    bytes: int | None = None

    @classmethod
    def parse(cls, text: str) -> Split:
        """What "90s", "10min", "1h", "700MB", "2GB" mean; "" for never.

        Raises:
            UsageError: it means nothing, or less than a second or a megabyte.
        """
        if not text.strip():
            return cls()
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.strip(), re.IGNORECASE)
        if match is not None:
            number, unit = float(match[1]), match[2]
            seconds = number * _SECONDS.get(unit.lower(), 0)
            size = int(number * _BYTES.get(unit.upper(), 0))
            if seconds >= _LEAST_S:
                return cls(seconds=seconds)
            if size >= _LEAST_BYTES:
                return cls(bytes=size)
        raise UsageError(
            f"{text!r} is no length or size of a file", "Give one such as 90s, 10min, 1h, 700MB, 2GB"
        )

    def due(self, part: Recording, next_ns: int) -> bool:
        """Whether the picture captured at that time belongs into the next file."""
        seconds = part.seconds_at(next_ns)
        if self.seconds is not None and seconds >= self.seconds:
            return True
        # a second more at the rate so far must still fit
        return self.bytes is not None and seconds >= 1 and part.size * (1 + 1 / seconds) >= self.bytes


def part_name(path: Path, number: int) -> Path:
    """The file of a part, from 1: `a.mp4`, `a_002.mp4` … in the order of their names."""
    return path if number == 1 else path.with_name(f"{path.stem}_{number:03d}{path.suffix}")
