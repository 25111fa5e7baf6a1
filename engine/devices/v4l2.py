"""Video4Linux2: what a device can do, asked by ioctl.

Structures and numbers are those of the kernel's `include/uapi/linux/videodev2.h`; the request codes
are encoded as on x86, ARM and RISC-V (`asm-generic/ioctl.h`).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Callable, Iterator
from fcntl import ioctl
from typing import TypeVar

from engine.devices.camera import CameraFormat

CAP_VIDEO_CAPTURE = 0x00000001
CAP_VIDEO_OUTPUT = 0x00000002
CAP_DEVICE_CAPS = 0x80000000

_BUF_TYPE_CAPTURE = 1
BUF_TYPE_OUTPUT = 2
_MEMORY_MMAP = 1
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


class StreamParameters(ctypes.Structure):
    """`struct v4l2_streamparm` with the first members of `struct v4l2_outputparm`."""

    _fields_ = (
        ("type", _u32),
        ("capability", _u32),
        ("mode", _u32),
        ("numerator", _u32),
        ("denominator", _u32),
        ("rest", _u32 * 46),
    )


class RequestBuffers(ctypes.Structure):
    """`struct v4l2_requestbuffers`."""

    _fields_ = (
        ("count", _u32),
        ("type", _u32),
        ("memory", _u32),
        ("capabilities", _u32),
        ("flags", _u32),
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
REQBUFS = _request(3, 8, ctypes.sizeof(RequestBuffers))
S_PARM = _request(3, 22, ctypes.sizeof(StreamParameters))
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


def is_capturing(path: str) -> bool:
    """Whether another program captures from this camera. Raises OSError if it can't be opened.

    Only one opener may hold a camera's buffers: the kernel answers EBUSY to any other.
    """
    with opened(path) as descriptor:
        try:
            ioctl(descriptor, REQBUFS, RequestBuffers(count=1, type=_BUF_TYPE_CAPTURE, memory=_MEMORY_MMAP))
        except OSError as error:
            return error.errno == errno.EBUSY
    return False


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
