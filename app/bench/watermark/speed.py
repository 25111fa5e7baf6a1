"""What marking a frame costs: CPU time of one thread, still scenes and pans, and setting up a size."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle

import numpy as np

from app.bench.cost import WarpReference
from app.bench.overhead import one_thread
from app.bench.report import Report, Value
from app.bench.scene import astronaut
from app.bench.watermark.robustness import PAYLOAD
from app.bench.watermark.visibility import fitted
from engine.mark.pattern import tile
from engine.mark.watermark import PUBLIC_KEY, Watermark
from engine.types import Image

SIZES = {"720p": (720, 1280, 1.5), "1080p": (1080, 1920, 3.0), "4K": (2160, 3840, None)}
"""Rows, columns, and most milliseconds a frame."""
_SET_UP_MS = 100
"""Most milliseconds that a size may take to set up; nothing of it is kept on disk."""
_FRAMES, _ROUNDS = 16, 6


def measure(report: Report) -> None:
    """Add the table and the figures to judge.

    Each figure is the mean over `_FRAMES` consecutive frames, as work is spread over frames, and the
    least of `_ROUNDS` such means, as other work on the machine only adds.
    """
    warp = WarpReference()
    table: list[list[Value]] = []
    with one_thread():
        for name, (height, width, limit) in SIZES.items():
            set_up = least(partial(once, height, width), 3)
            still, moving = (marking(views(height, width, step)) for step in (0, 24 * height // 720))
            unit = warp.seconds() * 1e3
            table.append([name, still, moving, still / unit, moving / unit, set_up])
            report.figures |= {f"ms_{name}": still, f"ms_{name}_pan": moving, f"set_up_ms_{name}": set_up}
            if limit is not None:
                report.check(f"ms_{name}", "<=", limit)
                report.check(f"ms_{name}_pan", "<=", limit)
        report.check("set_up_ms_4K", "<=", _SET_UP_MS)
        report.figures["tile_ms"] = least(lambda: tile(PUBLIC_KEY, PAYLOAD.to_bytes()), 3)
    columns = ("size", "still, ms", "pan, ms", "still / warp", "pan / warp", "set-up, ms")
    report.table("CPU time of a frame, one thread; warp: one 1280×720 warpAffine", columns, table)


def marking(frames: Iterator[Image]) -> float:
    """Milliseconds of CPU time a frame."""
    watermark = Watermark(PAYLOAD.to_bytes())
    watermark.apply(next(frames).copy())

    def some() -> float:
        todo = [next(frames).copy() for _ in range(_FRAMES)]
        return sum(timed(partial(watermark.apply, image)) for image in todo) / _FRAMES

    return min(some() for _ in range(_ROUNDS))


def views(height: int, width: int, step: int) -> Iterator[Image]:
    """A photo with a camera's noise that moves by so many columns a frame, there and back."""
    random = np.random.default_rng(0)
    wide = fitted(astronaut(), height, width + step * _FRAMES)
    noise = [random.integers(-3, 4, (height, width, 3)).astype(np.int16) for _ in range(2)]
    made = [
        np.clip(wide[:, index * step : index * step + width] + noise[index % 2], 0, 255).astype(np.uint8)
        for index in range(_FRAMES)
    ]
    return cycle(made + made[::-1])


def once(height: int, width: int) -> None:
    """Set up a size and mark its first picture."""
    Watermark(PAYLOAD.to_bytes()).apply(np.full((height, width, 3), 128, np.uint8))


def least(work: Callable[[], object], repeats: int) -> float:
    """Milliseconds of CPU time, the least of a few."""
    return min(timed(work) for _ in range(repeats))


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of this thread's CPU time."""
    began = time.thread_time()
    work()
    return (time.thread_time() - began) * 1e3
