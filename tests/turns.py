"""Tests in parallel processes take turns with those that need the machine for themselves.

What is measured against the clock (a guest with one core, a sound server) fails where another process
computes beside it. Such tests carry the marker `alone`.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def turn(alone: bool) -> Iterator[None]:
    """Keep out who wants to be alone, or keep out all; nothing where there is one process only.

    The first lock is held while waiting for the second, so that whoever wants to be alone is not
    overtaken for ever by those that share.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None or os.name != "posix":
        yield
        return
    import fcntl

    folder = Path(tempfile.gettempdir())
    with (
        (folder / f"kawari-{run}-queue").open("w") as queue,
        (folder / f"kawari-{run}-turn").open("w") as held,
    ):
        fcntl.flock(queue, fcntl.LOCK_EX)
        fcntl.flock(held, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(queue, fcntl.LOCK_UN)
        yield
