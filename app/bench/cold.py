"""Time from the start of a fresh process to its first swapped frame, and its peak memory.

`python -m app.bench.cold STARTED PHOTO FRAMES` is the fresh process: STARTED is `time.monotonic()`
of its parent just before it started it (one clock for all processes of a machine), PHOTO a source
photo, FRAMES a NumPy file of frames. It prints one line of JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.errors import KawariError

MEMORY_FRAMES = 120


@dataclass(frozen=True, slots=True)
class Start:
    """What a fresh process showed.

    Attributes:
        first_s: from its start, imports included, to its first swapped frame.
        cpu_s: the same in CPU time, which other work on the machine does not lengthen.
        memory_mb: peak resident memory after `MEMORY_FRAMES` more frames, MiB.
    """

    first_s: float
    cpu_s: float
    memory_mb: float


def start_up(repeats: int = 3) -> list[Start]:
    """Start fresh processes, one after the other; the first may find cold caches."""
    import numpy as np

    from app.bench.making import write_photo
    from app.bench.pipeline import MAIN

    with tempfile.TemporaryDirectory() as folder:
        photo, frames = Path(folder) / "photo.png", Path(folder) / "frames.npy"
        write_photo(photo)
        np.save(frames, np.stack([frame.image for frame in MAIN.frames(8)]))
        return [_start(photo, frames) for _ in range(repeats)]


def _start(photo: Path, frames: Path) -> Start:
    command = [sys.executable, "-m", "app.bench.cold", repr(time.monotonic()), str(photo), str(frames)]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise KawariError(f"The bench's fresh process ended with {done.returncode}: {done.stderr[-500:]}")
    return Start(**json.loads(done.stdout))


def child(started: float, photo: Path, path: Path) -> Start:
    """What the fresh process does: the shortest way from nothing to a swapped frame."""
    import numpy as np

    from app.bench.making import marker
    from engine.build import build_pipeline, choice_for
    from engine.config import SwapConfig, Who
    from engine.identity.import_photo import read_photo
    from engine.pipeline import Plan
    from engine.swap import make_swapper
    from engine.types import Frame, Shown

    swapper = make_swapper("mesh")
    identity = swapper.prepare([read_photo(photo)])
    plan = Plan({0: identity}, choice_for(Who.LARGEST))
    pipeline = build_pipeline(SwapConfig(), marker("mesh"), swapper)(plan, _ignore)
    images = np.load(path)
    first, cpu = None, 0.0
    for number in range(MEMORY_FRAMES):
        frame = Frame(number, round(number * 1e9 / 30), images[number % len(images)], number / 30)
        if pipeline.process(frame).shown is Shown.SWAPPED and first is None:
            first, cpu = time.monotonic() - started, time.process_time()
    if first is None:
        raise RuntimeError("no frame was swapped")
    return Start(first, cpu, peak_memory_mb())


def _ignore(kind: str, message: str = "", **data: str | int | float | bool) -> None:
    """Events are of no interest here."""


def peak_memory_mb() -> float:
    """Peak resident memory of this process, MiB."""
    if sys.platform == "win32":
        import psutil

        return float(psutil.Process().memory_info().peak_wset) / 2**20
    status = Path("/proc/self/status")
    if status.exists():  # Linux's ru_maxrss begins with the parent's
        return float(status.read_text().split("VmHWM:")[1].split()[0]) / 2**10
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak) / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(child(float(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])))))
