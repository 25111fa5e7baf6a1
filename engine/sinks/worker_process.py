"""Keeps the virtual-camera worker running: starts it, listens to it, replaces it within limits.

A second worker stands by, imported and attached, and takes the device over when the first one dies:
starting Python takes most of a second, in which viewers would look at a picture that stands still.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import engine

_WORKER = "engine.sinks.virtual_camera_worker"
_QUIET = "engine.sinks.virtual_camera_standby"
_STANDBY = "--standby"
_START_S = 15.0
_STOP_S = 2.0
_SILENT_S = 3.0
"""A worker that has said nothing for this long (it should, twice a second) hangs in the driver."""
_RESTARTS = 5
_FINAL = {"missing", "no-access", "package"}
"""Complaints that another worker would only repeat."""
_WINDOW_S = 60.0
"""No more than `_RESTARTS` in this time: a worker that dies at once must not become a busy loop."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no worker any more.

    Attributes:
        kind: the worker's own word (busy, missing, no-access, size, package, gone, failed), "crashed"
            if it died too often, or "silent" if it never got ready.
        message: details for people.
        details: "width" and "height" the device insists on, for the kind "size".
    """

    kind: str
    message: str
    details: dict[str, int] = field(default_factory=dict)


class WorkerProcess:
    """One worker at a time, replaced when it dies or hangs.

    `start`, `notify`, `check` and `stop` are called by one thread; a thread of its own listens.

    Args:
        arguments: the worker's command line.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = list(arguments)
        self._process: subprocess.Popen[bytes] | None = None
        self._standby: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._supervise, name="virtual-camera-supervisor", daemon=True)
        self._settled = threading.Event()
        self._stopping = threading.Event()
        self._heard = time.monotonic()
        self._restarted: deque[float] = deque(maxlen=_RESTARTS)
        self.device = ""
        self.failure: Failure | None = None
        self.restarts = 0
        self.state: dict[str, Any] = {}

    @property
    def pid(self) -> int | None:
        """Process id of the present worker."""
        process = self._process
        return None if process is None else process.pid

    def start(self) -> Failure | None:
        """Start and wait until the first worker is ready; returns why it isn't."""
        self._thread.start()
        if not self._settled.wait(_START_S) and self.failure is None:
            self.failure = Failure("silent", "the worker did not get ready")
        return self.failure

    def notify(self) -> None:
        """Tell the worker that there is a new picture; never blocks, never fails."""
        self._tell(b"\n")

    def check(self) -> Failure | None:
        """Put an end to a worker that hangs; returns why there is none any more."""
        process = self._process
        if process is not None and time.monotonic() - self._heard > _SILENT_S:
            self._heard = time.monotonic()
            process.kill()
        return self.failure

    def stop(self) -> None:
        """End the worker: politely, then by force."""
        self._stopping.set()
        process = self._process
        if process is not None:
            self._tell(b'\n{"op": "stop"}\n')
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
        if self._thread.is_alive():
            self._thread.join(_STOP_S)

    def _tell(self, line: bytes) -> None:
        process = self._process
        if process is not None and process.stdin is not None:
            # Gone: the supervisor has seen it too. Full: the worker hangs, `check` ends it.
            with contextlib.suppress(OSError, ValueError):
                process.stdin.write(line)

    def _supervise(self) -> None:
        while True:
            self._process = process = self._next()
            if self._stopping.is_set():  # `stop` may have missed this one
                process.kill()
            error = self._listen(process)
            _end(process)
            if self._stopping.is_set():
                break
            was_ready = self._settled.is_set()
            if error is not None and (not was_ready or error.kind in _FINAL):
                self.failure = error
                break
            now = time.monotonic()
            if len(self._restarted) == _RESTARTS and now - self._restarted[0] < _WINDOW_S:
                self.failure = error or Failure("crashed", "the worker keeps dying")
                break
            # The first restart is immediate, later ones wait: 0.1, 0.2, 0.4, 0.8 s.
            recent = sum(now - then < _WINDOW_S for then in self._restarted)
            self._restarted.append(now)
            if self._stopping.wait(0.1 * 2 ** (recent - 1) if recent else 0):
                break
            self.restarts += 1
        self._process = None
        _end(self._standby)
        self._settled.set()

    def _next(self) -> subprocess.Popen[bytes]:
        """The first worker, or the one that stands by, told to take the device over."""
        if not self._settled.is_set():
            self._heard = time.monotonic() + _START_S  # importing may take its time
            return self._spawn(_WORKER)
        process, self._standby = self._standby, None
        if process is None or process.poll() is not None or not _loaded(process):
            _end(process)
            process = self._spawn(_WORKER, _STANDBY)
        self._heard = time.monotonic() + _START_S  # it may still be importing
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # gone: `_listen` finds out
            process.stdin.write(b'{"op": "take"}\n')
        return process

    def _spawn(self, module: str, *more: str) -> subprocess.Popen[bytes]:
        root = str(Path(engine.__file__).resolve().parent.parent)
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        # numpy's BLAS would start threads that the worker never uses.
        environment = os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", module, *self._arguments, *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=environment,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        assert process.stdin is not None
        with contextlib.suppress(OSError, AttributeError):  # Windows: pipes can't before Python 3.12
            os.set_blocking(process.stdin.fileno(), False)
        return process

    def _listen(self, process: subprocess.Popen[bytes]) -> Failure | None:
        """Follow the worker until it ends; returns what it complained about."""
        error = None
        assert process.stdout is not None
        for line in iter(process.stdout.readline, b""):
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                self._heard = time.monotonic()
                match event.pop("event", None):
                    case "ready":
                        self.device = str(event["device"])
                        self._settled.set()
                        with contextlib.suppress(OSError):  # it goes without
                            self._standby = self._standby or self._spawn(_QUIET, _STANDBY)
                    case "alive":
                        self.state = event
                    case "error":
                        error = Failure(str(event.pop("kind")), str(event.pop("message")), event)
        return error


def _loaded(process: subprocess.Popen[bytes]) -> bool:
    """Whether a worker that stands by is ready: it has said so.

    Only Linux lets it start so quietly that it may take long; elsewhere pipes can't be asked as simply.
    """
    assert process.stdout is not None
    return sys.platform != "linux" or bool(select.select([process.stdout], [], [], 0)[0])


def _end(process: subprocess.Popen[bytes] | None) -> None:
    """Make an end of a process, if there is one, and close its pipes."""
    if process is None:
        return
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
