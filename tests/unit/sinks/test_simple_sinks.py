from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from engine.errors import UsageError
from engine.identity.picture import read_picture
from engine.sinks.base import StreamInfo
from engine.sinks.null import NullSink
from engine.sinks.picture import PICTURE_SUFFIXES, write_picture
from engine.sinks.preview import PreviewSink
from engine.types import Frame, Output, Shown
from tests.make_clip import colour_bars

STREAM = StreamInfo(448, 64, 30, live=True)


def output(number: int, age_ms: float = 0, shown: Shown = Shown.SWAPPED) -> Output:
    image = colour_bars()
    return Output(Frame(number, time.monotonic_ns() - int(age_ms * 1e6), image), image, shown=shown)


def test_preview_keeps_the_newest_only() -> None:
    woken: list[int] = []
    sink = PreviewSink(lambda: woken.append(1))
    sink.open(STREAM)
    for number in range(3):
        sink.write(output(number))
    newest = sink.take()
    assert newest is not None
    assert newest.frame.id == 2
    assert sink.take() is None
    assert len(woken) == 3


def test_null_counts() -> None:
    sink = NullSink()
    sink.open(STREAM)
    for number in (0, 1, 1, 4):
        sink.write(output(number, age_ms=50, shown=Shown.COVERED if number == 4 else Shown.SWAPPED))
    seen = sink.statistics
    assert (seen.outputs, seen.skipped) == (4, 2)
    assert seen.shown == {"swapped": 3, "covered": 1}
    assert min(seen.delay_ms) >= 50
    sink.open(STREAM)
    assert sink.statistics.outputs == 0
    assert sink.statistics.fps == 0


@pytest.mark.parametrize("suffix", PICTURE_SUFFIXES)
def test_pictures_come_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"ünï 人{suffix}"
    write_picture(path, colour_bars())
    back = read_picture(path).astype(int)
    assert np.abs(back - colour_bars()).mean() < (0.01 if suffix in (".png", ".tif", ".tiff", ".bmp") else 3)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_unknown_picture_ending(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="xyz"):
        write_picture(tmp_path / "a.xyz", colour_bars())
    with pytest.raises(UsageError, match="folder"):
        write_picture(tmp_path / "missing" / "a.png", colour_bars())
