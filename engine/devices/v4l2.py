"""Video4Linux2: what a device can do, asked by ioctl.

Structures and numbers are those of the kernel's `include/uapi/linux/videodev2.h`; the request codes
are encoded as on x86, ARM and RISC-V (`asm-generic/ioctl.h`).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from fcntl import ioctl
from pathlib import Path
from typing import TypeVar

from engine.devices.camera import CameraFormat

CAP_VIDEO_CAPTURE = 0x00000001
CAP_VIDEO_OUTPUT = 0x00000002
CAP_DEVICE_CAPS = 0x80000000
LOOPBACK_DRIVER = "v4l2 loopback"

_BUF_TYPE_CAPTURE = 1
_BUF_TYPE_OUTPUT = 2
_DISCRETE = 1
# Asked of devices that offer a range of sizes or rates instead of a list.
_COMMON_SIZES = ((320, 180), (320, 240), (640, 360), (640, 480), (800, 600), (960, 540), (1280, 720),
                 (1280, 960), (1920, 1080), (2560, 1440), (3840, 2160))  # fmt: skip
_COMMON_RATES = (120.0, 60.0, 50.0, 30.0, 25.0, 24.0, 20.0, 15.0, 10.0, 5.0)

_u32 = ctypes.c_uint32
_Structure = TypeVar("_Structure", bound=ctypes.Structure)


class Capability(ctypes.Structure):
    """`struct v4l2_capability`."""

    _fields_ = (
        ("driver", ctypes.c_char * 16),
        ("card", ctypes.c_char * 32),
        ("bus_info", ctypes.c_char * 32),
        ("version", _u32),
        ("capabilities", _u32),
        ("device_caps", _u32),
        ("reserved", _u32 * 3),
    )


class FormatDescription(ctypes.Structure):
    """`struct v4l2_fmtdesc`."""

    _fields_ = (
        ("index", _u32),
        ("type", _u32),
        ("flags", _u32),
        ("description", ctypes.c_char * 32),
        ("pixelformat", _u32),
        ("mbus_code", _u32),
        ("reserved", _u32 * 3),
    )


class Format(ctypes.Structure):
    """`struct v4l2_format` with the first members of `struct v4l2_pix_format`."""

    _fields_ = (
        ("type", _u32),
        ("padding", _u32),
        ("width", _u32),
        ("height", _u32),
        ("pixelformat", _u32),
        ("rest", _u32 * 47),
    )


class FrameSize(ctypes.Structure):
    """`struct v4l2_frmsizeenum`; values: width, height, or min, max, step of width and of height."""

    _fields_ = (
        ("index", _u32),
        ("pixelformat", _u32),
        ("type", _u32),
        ("values", _u32 * 6),
        ("reserved", _u32 * 2),
    )


class FrameInterval(ctypes.Structure):
    """`struct v4l2_frmivalenum`; values: numerator, denominator, of the interval or of min, max, step."""

    _fields_ = (
        ("index", _u32),
        ("pixelformat", _u32),
        ("width", _u32),
        ("height", _u32),
        ("type", _u32),
        ("values", _u32 * 6),
        ("reserved", _u32 * 2),
    )


def _request(direction: int, number: int, size: int) -> int:
    return direction << 30 | size << 16 | ord("V") << 8 | number


QUERYCAP = _request(2, 0, ctypes.sizeof(Capability))
ENUM_FMT = _request(3, 2, ctypes.sizeof(FormatDescription))
ENUM_FRAMESIZES = _request(3, 74, ctypes.sizeof(FrameSize))
ENUM_FRAMEINTERVALS = _request(3, 75, ctypes.sizeof(FrameInterval))
G_FMT = _request(3, 4, ctypes.sizeof(Format))
STREAMON = _request(1, 18, ctypes.sizeof(ctypes.c_int))

Query = Callable[[int, ctypes.Structure], bool]
"""Does one ioctl (request code, structure filled in place); False once the kernel says there is no more."""


@contextlib.contextmanager
def opened(path: str, flags: int = os.O_RDWR) -> Iterator[int]:
    """A non-blocking file descriptor of the device. Raises OSError."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def query(descriptor: int) -> Query:
    """A `Query` of an open device."""

    def ask(request: int, structure: ctypes.Structure) -> bool:
        try:
            ioctl(descriptor, request, structure)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOTTY):
                return False
            raise
        return True

    return ask


def capability(ask: Query) -> tuple[str, str, int]:
    """Driver name, card name, and the capability bits of this very device file."""
    answer = Capability()
    if not ask(QUERYCAP, answer):
        return "", "", 0
    bits = answer.device_caps if answer.capabilities & CAP_DEVICE_CAPS else answer.capabilities
    return answer.driver.decode(errors="replace"), answer.card.decode(errors="replace"), int(bits)


def formats(ask: Query) -> tuple[CameraFormat, ...]:
    """All pixel formats, sizes and rates that the device captures in."""
    found = []
    for description in _enumerate(
        ask, ENUM_FMT, lambda i: FormatDescription(index=i, type=_BUF_TYPE_CAPTURE)
    ):
        code = int(description.pixelformat)
        fourcc = (code & 0x7FFFFFFF).to_bytes(4, "little").decode("latin-1").strip()
        if code >> 31:  # big-endian variant
            fourcc += "-BE"
        found += [CameraFormat(fourcc, w, h, _rates(ask, code, w, h)) for w, h in _sizes(ask, code)]
    return tuple(found)


def output_format(path: str) -> tuple[int, int, str] | None:
    """Width, height and fourcc in which a v4l2loopback device takes pictures; None if it can't tell."""
    try:
        with opened(path, os.O_WRONLY) as descriptor:
            answer = Format(type=_BUF_TYPE_OUTPUT)
            if not query(descriptor)(G_FMT, answer):
                return None
    except OSError:
        return None
    fourcc = int(answer.pixelformat).to_bytes(4, "little").decode("latin-1")
    return int(answer.width), int(answer.height), fourcc


def _enumerate(ask: Query, request: int, make: Callable[[int], _Structure]) -> Iterator[_Structure]:
    for index in range(256):
        structure = make(index)
        if not ask(request, structure):
            return
        yield structure


def _sizes(ask: Query, fourcc: int) -> list[tuple[int, int]]:
    sizes: list[tuple[int, int]] = []
    for found in _enumerate(ask, ENUM_FRAMESIZES, lambda i: FrameSize(index=i, pixelformat=fourcc)):
        if found.type == _DISCRETE:
            sizes.append((found.values[0], found.values[1]))
            continue
        low_w, high_w, _, low_h, high_h, _ = found.values
        return [(w, h) for w, h in _COMMON_SIZES if low_w <= w <= high_w and low_h <= h <= high_h]
    return sizes


def _rates(ask: Query, fourcc: int, width: int, height: int) -> tuple[float, ...]:
    rates: set[float] = set()
    for found in _enumerate(
        ask,
        ENUM_FRAMEINTERVALS,
        lambda i: FrameInterval(index=i, pixelformat=fourcc, width=width, height=height),
    ):
        seconds = [found.values[i] / max(found.values[i + 1], 1) for i in (0, 2)]
        if found.type == _DISCRETE:
            if seconds[0] > 0:
                rates.add(round(1 / seconds[0], 3))
            continue
        shortest, longest = seconds
        return tuple(r for r in _COMMON_RATES if shortest <= 1 / r <= longest)
    return tuple(sorted(rates, reverse=True))


def free_output(path: str) -> None:
    """Make a v4l2loopback device with `exclusive_caps=1` writable again.

    Version 0.12 does not offer its output side again after a writer that never streamed (one that
    only calls `write`, or was killed) has gone. STREAMON makes this opener the writer, even where it
    then fails for want of a format, and closing a streaming writer is what brings the output back.
    Never call it while somebody writes. Raises OSError if the device can't be opened.
    """
    with opened(path) as descriptor, contextlib.suppress(OSError):
        ioctl(descriptor, STREAMON, ctypes.c_int(_BUF_TYPE_OUTPUT))


def is_fed(path: str, bits: int, seconds: float = 0.15) -> bool:
    """Whether somebody writes to the v4l2loopback device with these capability bits right now.

    The kernel does not say who the writer is, so this looks for one: a process (that this user may
    inspect) holding the device open for writing only, or pictures that arrive within `seconds`.
    """
    if held_for_writing(path):
        return True
    return bool(bits & CAP_VIDEO_CAPTURE or not bits & CAP_VIDEO_OUTPUT) and _delivers(path, seconds)


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
        with opened(path, os.O_RDONLY) as descriptor:
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
