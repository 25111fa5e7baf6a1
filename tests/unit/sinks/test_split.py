from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import UsageError
from engine.sinks.split import Split, part_name


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("", Split()), ("90s", Split(seconds=90)), ("10min", Split(seconds=600)),
        ("1.5 h", Split(seconds=5400)),
        ("700MB", Split(bytes=700_000_000)), ("2gb", Split(bytes=2_000_000_000)),
    ],
)  # fmt: skip
def test_lengths_and_sizes(text: str, split: Split) -> None:
    assert Split.parse(text) == split


@pytest.mark.parametrize("text", ["10", "0s", "0.1MB", "min", "-5min", "5 apples", "1m"])
def test_what_means_nothing(text: str) -> None:
    with pytest.raises(UsageError, match="length or size"):
        Split.parse(text)


def test_parts_sort_by_their_names() -> None:
    names = [part_name(Path("a b.mp4"), number).name for number in range(1, 12)]
    assert names[:2] == ["a b.mp4", "a b_002.mp4"] and names == sorted(names)
