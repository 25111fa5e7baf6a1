"""Fails a test that leaves a thread, a child process or a shared memory block behind."""

from __future__ import annotations

import multiprocessing.shared_memory as shm
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

PATIENCE_S = 3.0
"""Time that something which is on its way out gets to end."""
HELPERS = ("resource_tracker", "forkserver")
"""Children that multiprocessing keeps for the life of the process."""


def threads() -> set[threading.Thread]:
    """Threads that must end: Kawari's own, and those that would keep the interpreter from ending."""
    return {
        one
        for one in threading.enumerate()
        if one.is_alive()
        and one is not threading.main_thread()
        and (not one.daemon or one.name.lower().startswith("kawari"))
        and not isinstance(one, threading._DummyThread)  # a foreign thread seen once, of unknown fate
    }


def children() -> set[psutil.Process]:
    """Child processes, at any depth, that still run."""
    found = set()
    for child in psutil.Process().children(recursive=True):
        try:
            if child.status() != psutil.STATUS_ZOMBIE and not any(
                helper in word for helper in HELPERS for word in child.cmdline()
            ):
                found.add(child)
        except psutil.Error:
            continue
    return found


def where(thread: threading.Thread) -> str:
    """The line a thread is at."""
    frame = sys._current_frames().get(thread.ident or 0)
    if frame is None:
        return "ending"
    last = traceback.extract_stack(frame)[-1]
    return f"{last.filename}:{last.lineno} in {last.name}"


def describe(process: psutil.Process) -> str:
    """A process in one line."""
    try:
        return f"{process.pid}: {' '.join(process.cmdline())[:120]}"
    except psutil.Error:
        return f"{process.pid}: ending"


def still_there(name: str) -> bool:
    """True if the shared memory block exists."""
    try:
        block = shm.SharedMemory(name)
    except FileNotFoundError:
        return False
    block.close()
    return True


@pytest.fixture(autouse=True)
def nothing_left_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compare before and after; name what is left, where it stands and what to do."""
    created: set[str] = set()
    original = shm.SharedMemory.__init__

    def remember(self: shm.SharedMemory, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if kwargs.get("create") or (len(args) > 1 and args[1]):
            created.add(self.name)

    monkeypatch.setattr(shm.SharedMemory, "__init__", remember)
    before = threads(), children()
    yield
    deadline = time.monotonic() + PATIENCE_S
    while (left := [*(threads() - before[0]), *(children() - before[1])]) and time.monotonic() < deadline:
        time.sleep(0.02)
    blocks = sorted(name for name in created if still_there(name))
    lines = [
        f"thread {one.name!r} at {where(one)}"
        if isinstance(one, threading.Thread)
        else f"process {describe(one)}"
        for one in left
    ] + [f"shared memory block {name!r}" for name in blocks]
    if lines:
        pytest.fail(
            "this test left something behind:\n  "
            + "\n  ".join(lines)
            + "\nStop or close what the test started (use `with`, a fixture that closes after `yield`, or"
            " `try … finally`); if the product should have ended it by itself, the product leaks.",
            pytrace=False,
        )
