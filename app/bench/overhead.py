"""How much of a frame's time is Python's own, and not OpenCV's, ONNX Runtime's or NumPy's.

cProfile times every call into compiled code separately from the Python code around it. What stays
with Python functions is an upper bound of the interpreter's share: NumPy operators such as `a * b`
are no calls and are counted as Python although they run compiled, and the profiler's own cost per
call falls on Python, too.
"""

from __future__ import annotations

import cProfile
import pstats
from dataclasses import dataclass

from app.bench.cost import Meter
from app.bench.making import Maker
from app.bench.pipeline import LOOP, MAIN, WARM_UP
from engine.config import Who


@dataclass(frozen=True, slots=True)
class Overhead:
    """The interpreter's share.

    Attributes:
        python: share of the time spent in Python functions and in built-ins on Python objects.
        functions: the costliest of these: name, calls a frame, ms a frame.
        compiled: the costliest calls into compiled code, likewise.
    """

    python: float
    functions: list[tuple[str, float, float]]
    compiled: list[tuple[str, float, float]]


def measure(maker: Maker, frames: int) -> Overhead:
    """Profile the main scene."""
    pipeline = maker.pipeline(Who.LARGEST, Meter())
    loop = MAIN.frames(LOOP)
    for number in range(WARM_UP):
        pipeline.process(loop[number % len(loop)])
    profile = cProfile.Profile()
    profile.enable()
    for number in range(WARM_UP, WARM_UP + frames):
        pipeline.process(loop[number % len(loop)])
    profile.disable()
    rows = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    python: list[tuple[str, float, float]] = []
    compiled: list[tuple[str, float, float]] = []
    for (file, line, name), (_, calls, own, _, _) in rows.items():
        native = file == "~" and not is_object_work(name)
        label = name if file == "~" else f"{file.rsplit('/', 1)[-1]}:{line} {name}"
        (compiled if native else python).append((label, calls / frames, own / frames * 1e3))
    total = sum(ms for _, _, ms in python + compiled)
    return Overhead(sum(ms for _, _, ms in python) / total, _top(python), _top(compiled))


def is_object_work(name: str) -> bool:
    """True for built-ins that work on Python objects rather than on arrays."""
    return "built-in method builtins." in name or any(
        f"of '{kind}' objects" in name
        for kind in ("list", "dict", "str", "tuple", "set", "collections.deque")
    )


def _top(rows: list[tuple[str, float, float]]) -> list[tuple[str, float, float]]:
    return sorted(rows, key=lambda row: -row[2])[:12]
