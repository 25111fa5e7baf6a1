"""v4l2loopback: the Linux driver that turns what a program writes into a camera.

Tested with version 0.12.7; what is said of it here was observed there, and does no harm with others.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import time
from fcntl import ioctl
from fractions import Fraction
from pathlib import Path

from engine.devices import v4l2

DRIVER = "v4l2 loopback"


def output_format(path: str) -> tuple[int, int, str] | None:
    """Width, height and fourcc in which a v4l2loopback device takes pictures; None if it can't tell."""
    try:
        with v4l2.opened(path, os.O_WRONLY) as descriptor:
            answer = v4l2.Format(type=v4l2.BUF_TYPE_OUTPUT)
            if not v4l2.query(descriptor)(v4l2.G_FMT, answer):
                return None
    except OSError:
        return None
    fourcc = int(answer.pixelformat).to_bytes(4, "little").decode("latin-1")
    return int(answer.width), int(answer.height), fourcc


def set_output_rate(path: str, fps: float) -> None:
    """Tell programs that read a v4l2loopback device which frame rate to expect; no more than a hint."""
    rate = Fraction(fps).limit_denominator(1001)  # 29.97 is 30000/1001
    with contextlib.suppress(OSError), v4l2.opened(path, os.O_WRONLY) as descriptor:
        parameters = v4l2.StreamParameters(
            type=v4l2.BUF_TYPE_OUTPUT, numerator=rate.denominator, denominator=rate.numerator
        )
        ioctl(descriptor, v4l2.S_PARM, parameters)


def free_output(path: str) -> None:
    """Make a v4l2loopback device with `exclusive_caps=1` writable again.

    Version 0.12 does not offer its output side again after a writer that never streamed (one that
    only calls `write`, or was killed) has gone. v4l2.STREAMON makes this opener the writer, even where it
    then fails for want of a format, and closing a streaming writer is what brings the output back.
    Never call it while somebody writes. Raises OSError if the device can't be opened.
    """
    with v4l2.opened(path) as descriptor, contextlib.suppress(OSError):
        ioctl(descriptor, v4l2.STREAMON, ctypes.c_int(v4l2.BUF_TYPE_OUTPUT))


def is_fed(path: str, bits: int, seconds: float = 0.15) -> bool:
    """Whether somebody writes to the v4l2loopback device with these capability bits right now.

    The kernel does not say who the writer is, so this looks for one: a process (that this user may
    inspect) holding the device open for writing only, or pictures that arrive within `seconds`.
    """
    if held_for_writing(path):
        return True
    return bool(bits & v4l2.CAP_VIDEO_CAPTURE or not bits & v4l2.CAP_VIDEO_OUTPUT) and _delivers(
        path, seconds
    )


def held_for_writing(path: str) -> bool:
    """Whether another process that this user may inspect has the device open for writing only."""
    try:
        number = Path(path).stat().st_rdev
    except OSError:
        return False
    own = str(os.getpid())
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or process.name == own:
            continue
        with contextlib.suppress(OSError):
            for link in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    status = link.stat()
                    if not stat.S_ISCHR(status.st_mode) or status.st_rdev != number:
                        continue
                    info = (process / "fdinfo" / link.name).read_text()
                    flags = int(info.split("flags:")[1].split()[0], 8)
                    if flags & os.O_ACCMODE == os.O_WRONLY:
                        return True
    return False


def _delivers(path: str, seconds: float) -> bool:
    try:
        with v4l2.opened(path, os.O_RDONLY) as descriptor:
            with contextlib.suppress(BlockingIOError):
                for _ in range(8):  # pictures left over from before
                    os.read(descriptor, 16)
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                with contextlib.suppress(BlockingIOError):
                    return bool(os.read(descriptor, 16))
                time.sleep(0.01)
    except OSError:
        pass
    return False
