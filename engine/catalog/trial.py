"""A model nobody vouches for is run once in a process of its own: `python -m engine.catalog.trial`.

A file of a few bytes can ask for all memory, or compute for ever, or hit a fault in a parser. There it
harms nobody: the process is watched, and ended when it takes too much.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

import engine
from engine.errors import ModelError

SECONDS = 180.0
"""The largest models of the catalogue take 10 to 20 s to be loaded and run on two slow cores."""
MEMORY = 4 << 30
"""Bytes, besides four times the file's size."""
_POLL_S = 0.02
_EXHAUSTED = 3
_AGAIN = "Get the file again from its publisher"


def try_out(path: Path, *, seconds: float = SECONDS, memory: int = MEMORY) -> None:
    """Open and run the model once; whether it is the right one is for others to say.

    Raises:
        ModelError: it takes too long or too much memory, or crashes the process.
    """
    root = str(Path(engine.__file__).resolve().parent.parent)
    search = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    child = subprocess.Popen(
        [sys.executable, "-m", __name__, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": search},
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    try:
        ended = _watch(child, time.monotonic() + seconds, memory + 4 * path.stat().st_size)
    finally:
        child.kill()
        child.wait()
    if ended is not None:
        problem = ended
    elif child.returncode == _EXHAUSTED:
        problem = "needs too much memory"
    elif child.returncode:
        problem = "crashes ONNX Runtime"
    else:
        return
    raise ModelError(f"{path.name} was tried out and {problem}", _AGAIN)


def _watch(child: subprocess.Popen[bytes], deadline: float, memory: int) -> str | None:
    """Why it must be ended; None if it has ended by itself."""
    watched = psutil.Process(child.pid)
    while child.poll() is None:
        if time.monotonic() > deadline:
            return "does not come to an end"
        try:
            if watched.memory_info().rss > memory:
                return "needs too much memory"
        except psutil.NoSuchProcess:
            continue
        time.sleep(_POLL_S)
    return None


def _main(path: Path) -> int:
    """Open and run it. That this provider does not know an operator is no fault of the file's."""
    from engine.catalog.check import parse
    from engine.catalog.foreign import refuse_foreign
    from engine.runtime.network import Network, warm_up
    from engine.runtime.providers import CPU

    try:
        refuse_foreign(parse(path), path.name)
        warm_up(Network(path, CPU))
    except MemoryError:
        return _EXHAUSTED
    except Exception as error:  # noqa: BLE001 - the checks that follow say what is wrong with the file
        return _EXHAUSTED if "alloc" in str(error) else 0
    return 0


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
