"""Head pose and expression for VTuber programs, by the VMC protocol over OSC.

https://protocol.vmc.info: `/VMC/Ext/Bone/Pos` and `/VMC/Ext/Blend/Val`, closed by `/VMC/Ext/Blend/Apply`.
Blendshapes carry ARKit's names (`engine.track.blendshapes`), which VMC's readers know as "perfect sync".
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable

import numpy as np
from pythonosc.osc_bundle_builder import IMMEDIATELY, OscBundleBuilder
from pythonosc.osc_message import OscMessage
from pythonosc.osc_message_builder import OscMessageBuilder

from engine.errors import DeviceError
from engine.sinks.base import StreamInfo
from engine.track.blendshapes import Expression, ExpressionReader
from engine.track.pose import Floats
from engine.types import Face, Output

HOST, PORT = "127.0.0.1", 39539
"""Where programs that take VMC listen if nothing else is set."""
_DATAGRAM = 1400
"""Bytes; the protocol asks for bundles that fit an Ethernet frame."""
_BUNDLE_HEAD, _ITEM_HEAD = 16, 4


class VmcSink:
    """A sink (see `engine.sinks.base.Sink`) that sends what the tracked face does, and no picture.

    One face is told: the one that is swapped, else the widest, as long as it stays. While there is none,
    or everything is covered (panic), only signs of life are sent and the avatar keeps still.

    Args:
        host, port: where the other program listens; UDP.
    """

    name = "vmc"

    def __init__(self, host: str = HOST, port: int = PORT) -> None:
        self._address = (host, port)
        self._socket: socket.socket | None = None
        self._face: int | None = None
        self._reader = ExpressionReader()
        self._began = 0.0

    def open(self, stream: StreamInfo) -> None:
        """Look the address up.

        Raises:
            DeviceError: there is no such host.
        """
        try:
            found = socket.getaddrinfo(*self._address, type=socket.SOCK_DGRAM)[0]
            self._socket = socket.socket(*found[:3])
            self._socket.connect(found[4])
        except OSError as error:
            self.close()
            raise DeviceError(
                f"VMC can't be sent to {self._address[0]}:{self._address[1]}", "Check the address"
            ) from error
        self._face, self._reader = None, ExpressionReader()
        self._began = time.monotonic()

    def write(self, output: Output) -> None:
        """Send one frame's pose and expression."""
        face = None if output.reason == "panic" else self._choose(output)
        messages = [_message("/VMC/Ext/OK", 1), _message("/VMC/Ext/T", time.monotonic() - self._began)]
        if face is not None:
            messages += _expression(self._reader.read(face))
        for datagram in _bundles(messages):
            self._send(datagram)

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _choose(self, output: Output) -> Face | None:
        faces = [face for face in output.faces if face.id in output.swapped] or list(output.faces)
        if not faces:
            return None
        face = next((one for one in faces if one.id == self._face), None)
        if face is None:
            face = max(faces, key=lambda one: one.width)
            self._face, self._reader = face.id, ExpressionReader()
        return face

    def _send(self, datagram: bytes) -> None:
        assert self._socket is not None
        try:
            self._socket.send(datagram)
        except OSError:  # nobody listens yet, or the network is down: the next one may arrive
            return


def quaternion(rotation: Floats) -> tuple[float, float, float, float]:
    """A rotation (3, 3) as x, y, z, w, in Unity's axes.

    Unity's (right, up, forward, as the head sees them) are the picture's with all three signs changed, so
    that the matrix is the same in both; from it as by K. Shoemake, "Animating rotation with quaternion
    curves", SIGGRAPH 1985, by the largest component.
    """
    r = np.asarray(rotation, np.float64)
    # 4 q qᵀ, from whose largest column q is read
    outer = np.array(
        [
            [1 + r[0, 0] - r[1, 1] - r[2, 2], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0], r[2, 1] - r[1, 2]],
            [r[0, 1] + r[1, 0], 1 - r[0, 0] + r[1, 1] - r[2, 2], r[1, 2] + r[2, 1], r[0, 2] - r[2, 0]],
            [r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], 1 - r[0, 0] - r[1, 1] + r[2, 2], r[1, 0] - r[0, 1]],
            [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], 1 + r[0, 0] + r[1, 1] + r[2, 2]],
        ]
    )
    column = outer[:, int(np.argmax(np.diag(outer)))]
    unit = column / np.linalg.norm(column) * (1 if column[3] >= 0 else -1)
    return float(unit[0]), float(unit[1]), float(unit[2]), float(unit[3])


def _expression(found: Expression) -> list[OscMessage]:
    head = _message("/VMC/Ext/Bone/Pos", "Head", 0.0, 0.0, 0.0, *quaternion(found.rotation))
    shapes = [_message("/VMC/Ext/Blend/Val", name, value) for name, value in found.shapes.items()]
    return [head, *shapes, _message("/VMC/Ext/Blend/Apply")]


def _message(address: str, *values: str | float) -> OscMessage:
    builder = OscMessageBuilder(address)
    for value in values:
        builder.add_arg(value)
    return builder.build()


def _bundles(messages: Iterable[OscMessage]) -> Iterable[bytes]:
    """The messages in as few datagrams as fit, in order."""
    builder, size = OscBundleBuilder(IMMEDIATELY), _BUNDLE_HEAD
    for message in messages:
        needed = _ITEM_HEAD + message.size
        if size + needed > _DATAGRAM:
            yield builder.build().dgram
            builder, size = OscBundleBuilder(IMMEDIATELY), _BUNDLE_HEAD
        builder.add_content(message)
        size += needed
    yield builder.build().dgram
