"""The process that feeds a virtual camera: `python -m engine.sinks.virtual_camera_worker`.

A process of its own for three reasons: a driver that hangs or crashes can't stop the engine; sending at
an even pace does not fight for the engine's interpreter lock; and pyvirtualcam, which is under the GPL,
stays in a program that Kawari only talks to. It imports numpy, pyvirtualcam and the standard library.

Pictures come through a `Ring`. Control comes through standard input: an empty line says "there is a new
picture", `{"op": "stop"}` ends the worker, and end of file says that the engine is gone. A worker started
with `--standby` gets ready, but touches the device only after `{"op": "take"}`. Events go to standard
output, one JSON object a line: `standby`, `ready`, `alive` (every half second) and `error`.

Whenever no new picture came for a second, the ring's card is sent instead: viewers never look at a
frozen face. Without an engine the worker ends after a few seconds of card.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.sinks.feeder import Feeder, MemoryOutput, Output
from engine.sinks.ring import Ring

LINGER_S = 3.0
"""How long the card stays once the engine is gone."""
ALIVE_EVERY_S = 0.5
_FAILED_WRITES = 5
"""Writes in a row that the driver may refuse before the device counts as gone."""


class OpenError(Exception):
    """The device can't be opened; `kind` is one of busy, missing, no-access, size, package, failed."""

    def __init__(self, kind: str, message: str, **details: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.details = details


class DriverOutput:
    """A virtual camera of the system, through pyvirtualcam."""

    def __init__(self, width: int, height: int, options: argparse.Namespace) -> None:
        try:
            import pyvirtualcam
        except ImportError as error:
            raise OpenError("package", f"pyvirtualcam is missing: {error}") from error
        device = options.device
        self._loopback = device if sys.platform == "linux" else None
        if self._loopback:
            _prepare_loopback(self._loopback, reclaim=options.standby)
        try:
            self._camera = pyvirtualcam.Camera(
                width,
                height,
                options.fps,
                fmt=pyvirtualcam.PixelFormat.BGR,
                device=device,
                backend=options.backend,
            )
        except RuntimeError as error:
            raise OpenError(_kind(str(error)), str(error).strip()) from error
        self.device = str(self._camera.device)
        if self._loopback:
            self._settle(width, height, options.fps)
        self._complaints = _Complaints()
        self._failed = 0

    def _settle(self, width: int, height: int, fps: float) -> None:
        """Announce the rate, and check the size: 0.12 silently keeps its old one while a program reads."""
        from engine.devices import loopback

        assert self._loopback is not None
        loopback.set_output_rate(self._loopback, fps)
        real = loopback.output_format(self._loopback)
        if real is not None and real[:2] != (width, height):
            self.close()
            raise OpenError("size", "a program reads it at another size", width=real[0], height=real[1])

    def send(self, picture: NDArray[np.uint8]) -> None:
        """See `Output`."""
        self._camera.send(picture)
        complaint = self._complaints.read()
        self._failed = self._failed + 1 if complaint else 0
        if self._failed >= _FAILED_WRITES:
            raise OSError(complaint)

    def close(self) -> None:
        """See `Output`."""
        self._camera.close()
        if self._loopback:
            from engine.devices import loopback

            try:
                loopback.free_output(self._loopback)
            except OSError:
                return  # unplugged: nothing to tidy


class _Complaints:
    """What pyvirtualcam's C++ prints to standard error: the only way it tells that a write failed."""

    def __init__(self) -> None:
        self._descriptor = -1
        if sys.platform != "win32":  # pipes that don't block: POSIX only
            self._descriptor, write = os.pipe()
            os.set_blocking(self._descriptor, False)
            os.dup2(write, 2)
            os.close(write)

    def read(self) -> str:
        if self._descriptor < 0:
            return ""
        try:
            return os.read(self._descriptor, 4096).decode(errors="replace")
        except BlockingIOError:
            return ""


def _prepare_loopback(path: str, reclaim: bool) -> None:
    """Refuse a device that somebody feeds; open the output side that a former writer left closed.

    A worker that takes over from a killed one (`reclaim`) does not spend time on waiting for pictures:
    an instant ago the device was ours.
    """
    from engine.devices import loopback, v4l2

    try:
        with v4l2.opened(path, os.O_WRONLY) as descriptor:
            driver, _, bits = v4l2.capability(v4l2.query(descriptor))
    except PermissionError as error:
        raise OpenError("no-access", f"{path} may not be opened") from error
    except OSError as error:
        raise OpenError("missing", f"{path} is not there") from error
    if driver != loopback.DRIVER:
        raise OpenError("missing", f"{path} is no v4l2loopback device")
    if loopback.held_for_writing(path) if reclaim else loopback.is_fed(path, bits):
        raise OpenError("busy", f"another program sends pictures to {path}")
    if not bits & v4l2.CAP_VIDEO_OUTPUT:
        loopback.free_output(path)


def _kind(message: str) -> str:
    """What pyvirtualcam's message (0.12 to 0.15) means."""
    text = message.lower()
    for kind, words in {
        "busy": ("in use", "busy", "could not be started", "not a video output device", "start stream"),
        "no-access": ("permission",),
        "missing": ("does not exist", "not found", "no v4l2", "not installed", "no camera registered"),
    }.items():
        if any(word in text for word in words):
            return kind
    return "failed"


class Inbox(threading.Thread):
    """Listens to the engine. `woken` is set whenever something happened."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.woken = threading.Event()
        self.stop = self.take = False
        self.engine_gone = False

    def run(self) -> None:
        """Read until end of file. `os.read`: a daemon thread may not hold a stream's lock at exit."""
        rest = b""
        while chunk := os.read(0, 65536):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in filter(bytes.strip, lines):
                op = json.loads(line).get("op")
                self.stop, self.take = self.stop or op == "stop", self.take or op == "take"
            self.woken.set()
        self.engine_gone = True
        self.woken.set()


def emit(event: str, **values: Any) -> None:
    """Tell the engine, unless it is gone."""
    try:
        os.write(1, json.dumps({"event": event, **values}).encode() + b"\n")
    except OSError:
        return


def preload() -> None:
    """Import what is otherwise imported when the device is opened."""
    with contextlib.suppress(ImportError):  # the first worker has told it already
        import pyvirtualcam  # noqa: F401

        from engine.devices import loopback  # noqa: F401


def stand_by(inbox: Inbox) -> bool:
    """Wait for the word; False if there is nothing to take over any more."""
    emit("standby")
    while not (inbox.take or inbox.stop or inbox.engine_gone):
        inbox.woken.wait()
        inbox.woken.clear()
    return inbox.take and not inbox.engine_gone


def feed(ring: Ring, output: Output, fps: float, inbox: Inbox) -> None:
    """Send pictures until told to stop or left alone. Raises OSError once the device is gone."""
    alive = time.monotonic()
    gone_since: float | None = None
    feeder = Feeder(ring, output, fps, alive)
    while not inbox.stop:
        wake_at = min(feeder.due, alive + ALIVE_EVERY_S)
        inbox.woken.wait(max(wake_at - time.monotonic(), 0.0005))
        inbox.woken.clear()
        now = time.monotonic()
        if inbox.engine_gone:
            gone_since = gone_since or now
            if now - gone_since >= LINGER_S:
                return
        feeder.step(now, inbox.engine_gone)
        if now - alive >= ALIVE_EVERY_S:
            emit("alive", **feeder.state)
            alive = now
    feeder.finish()


def main(arguments: Sequence[str]) -> int:
    """Run the worker; returns the exit status: 0 stopped or left alone, 4 device trouble."""
    parser = argparse.ArgumentParser(description="Feeds a virtual camera from shared memory.")
    parser.add_argument("--ring", required=True)
    parser.add_argument("--fps", type=float, required=True)
    parser.add_argument("--device")
    parser.add_argument("--backend", help='pyvirtualcam\'s, or "memory" with a ring as the device')
    parser.add_argument("--standby", action="store_true", help="wait to take over from a worker that dies")
    options = parser.parse_args(arguments)
    # Ctrl-C in a terminal reaches this process too; the engine decides when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.excepthook = lambda kind, error, _: emit("error", kind="failed", message=f"{kind.__name__}: {error}")
    inbox = Inbox()
    inbox.start()
    output: Output
    try:
        ring = Ring.attach(options.ring)
        if options.standby and not stand_by(inbox):
            return 0
        if options.backend == "memory":
            output = MemoryOutput(options.device)
        else:
            output = DriverOutput(ring.width, ring.height, options)
    except OpenError as error:
        emit("error", kind=error.kind, message=str(error), **error.details)
        return 4
    except FileNotFoundError:  # the engine has gone meanwhile
        return 0
    emit("ready", device=output.device)
    try:
        feed(ring, output, options.fps, inbox)
    except OSError as error:
        emit("error", kind="gone", message=str(error))
        return 4
    finally:
        output.close()
        ring.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
