"""How much of a frame's time is Python's own, and not OpenCV's, ONNX Runtime's or NumPy's.

Two measures of the same frames, both in CPU time on one thread:

- *instructions and crossings*: how many bytecode instructions a frame takes (counted by
  `sys.settrace` with opcode events, which changes the time but not the number), times what one takes
  here (from a loop of ordinary Python), plus the number of calls into compiled code times what the
  least such call takes (one-pixel OpenCV and NumPy calls: nothing but conversion of arguments).
- *profile*: the time that cProfile leaves with Python functions. It is an upper bound: NumPy
  operators such as `a * b` are no calls and count as Python although they run compiled, and the
  profiler's own cost per call falls on Python, too. It shows where to look.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import cv2
import numpy as np

from app.bench.cost import Meter
from app.bench.making import Maker
from app.bench.pipeline import LOOP, MAIN, WARM_UP
from engine.config import Who
from engine.pipeline import Pipeline
from engine.types import Frame

COUNTED_FRAMES = 5
Row = tuple[str, float, float]


@dataclass(frozen=True, slots=True)
class Overhead:
    """The interpreter's share of a frame.

    Attributes:
        share: instructions and crossings × time of one, over the frame's CPU time.
        at_most: the profile's upper bound.
        instructions: bytecode instructions a frame.
        crossings: calls into compiled code a frame.
        instruction_ns, crossing_ns: CPU time of one.
        functions: the costliest Python functions: name, calls a frame, own ms a frame.
        compiled: the costliest calls into compiled code, likewise.
    """

    share: float
    at_most: float
    instructions: float
    crossings: float
    instruction_ns: float
    crossing_ns: float
    functions: list[Row]
    compiled: list[Row]


def measure(maker: Maker, frames: int) -> Overhead:
    """Measure the main scene, with OpenCV on one thread."""
    pipeline, loop = maker.pipeline(Who.LARGEST, Meter()), MAIN.frames(LOOP)
    todo = (loop[number % len(loop)] for number in range(10**9))
    with one_thread():
        for _ in range(WARM_UP):
            pipeline.process(next(todo))
        began = time.thread_time()
        for _ in range(frames):
            pipeline.process(next(todo))
        frame_s = (time.thread_time() - began) / frames
        python, compiled = profile(pipeline, todo, frames)
        count = instructions(pipeline, todo)
    total = sum(ms for _, _, ms in python + compiled)
    instruction, crossing = instruction_s(), crossing_s()
    crossings = sum(calls for _, calls, _ in compiled)
    share = (count * instruction + crossings * crossing) / frame_s
    at_most = sum(ms for _, _, ms in python) / total
    return Overhead(
        share, at_most, count, crossings, instruction * 1e9, crossing * 1e9, top(python), top(compiled)
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """Let OpenCV work on the calling thread alone, so that its CPU time is counted there."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def profile(pipeline: Pipeline, todo: Iterator[Frame], frames: int) -> tuple[list[Row], list[Row]]:
    """Python functions and calls into compiled code: name, calls a frame, own CPU ms a frame."""
    profiler = cProfile.Profile(time.thread_time)
    for _ in range(frames):
        frame = next(todo)
        profiler.enable()
        pipeline.process(frame)
        profiler.disable()
    python: list[Row] = []
    compiled: list[Row] = []
    rows = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    for (file, line, name), (_, calls, own, _, _) in rows.items():
        label = name if file == "~" else f"{file.rsplit('/', 1)[-1]}:{line} {name}"
        native = file == "~" and not is_object_work(name)
        (compiled if native else python).append((label, calls / frames, own / frames * 1e3))
    return python, compiled


def is_object_work(name: str) -> bool:
    """True for built-ins that work on Python objects rather than on arrays."""
    kinds = ("list", "dict", "str", "tuple", "set", "collections.deque")
    return "built-in method builtins." in name or any(f"of '{kind}' objects" in name for kind in kinds)


def top(rows: list[Row]) -> list[Row]:
    """The costliest."""
    return sorted(rows, key=lambda row: -row[2])[:12]


def instructions(pipeline: Pipeline, todo: Iterator[Frame]) -> float:
    """Bytecode instructions a frame, on this thread."""
    with counting() as counted:
        for _ in range(COUNTED_FRAMES):
            pipeline.process(next(todo))
    return counted[0] / COUNTED_FRAMES


@contextmanager
def counting() -> Iterator[list[int]]:
    """Count the bytecode instructions that this thread runs inside."""
    count = [0]

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        del argument
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            count[0] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(before)


def instruction_s(repeats: int = 5) -> float:
    """CPU time of one bytecode instruction of ordinary Python, the least of a few runs."""
    with counting() as counted:
        ordinary_python(100)
    spent = []
    for _ in range(repeats):
        began = time.thread_time()
        ordinary_python(20_000)
        spent.append(time.thread_time() - began)
    return min(spent) / (counted[0] / 100 * 20_000)


def crossing_s(repeats: int = 5, calls: int = 4000) -> float:
    """CPU time of the least call into OpenCV and NumPy, the mean of both; the least of a few runs."""
    pixel = np.zeros((1, 1), np.float32)
    out = np.zeros_like(pixel)
    spent = []
    for _ in range(repeats):
        began = time.thread_time()
        for _ in range(calls):
            cv2.add(pixel, pixel, out)
            np.add(pixel, pixel, out)
        spent.append(time.thread_time() - began)
    return min(spent) / (2 * calls)


class _Point:
    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y


def ordinary_python(rounds: int) -> int:
    """Calls, attributes, tuples, dictionaries, branches: what glue code is made of."""
    seen: dict[str, int] = {}
    total = 0
    for number in range(rounds):
        point = _Point(number, number + 1)
        low, high = min(point.x, 7), max(point.y, 3)
        if low < high:
            total += len((low, high, point.x))
        seen["last"] = total
    return total + seen["last"]
