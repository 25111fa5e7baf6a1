"""`kawari bench overhead`: what a neural swap costs around the network.

The network is replaced by one that answers at once, so that all the time is ours: Kawari's neural
path (align, normalise, check the answer, prove that the face was replaced, paste), the least that
OpenCV needs, and InsightFace's `INSwapper.get(paste_back=True)` take turns on the same frames. CPU
time of the thread, with OpenCV on one thread; the median counts.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from app.bench.least import Least
from app.bench.overhead import one_thread
from app.bench.report import Report, Value
from engine.align import five_points
from engine.blend.paste import paste
from engine.catalog.entry import read_catalogue
from engine.guard.proof import replaced
from engine.swap.neural.mask import box_mask
from engine.swap.neural.swapper import NeuralFaceSwap, NeuralIdentity, NeuralSwapper
from engine.track.topology import CANONICAL, LEFT_EYE, RIGHT_EYE
from engine.types import Face, Image
from models import CATALOGUE

WIDTH, HEIGHT, FACE = 1280, 720, 300
FRAMES = 8
_EVERY = 3
"""InsightFace's turn comes with each n-th frame only: it takes ten times as long."""


class Instant:
    """A network that gives the same picture at once."""

    def __init__(self, size: int) -> None:
        random = np.random.default_rng(4)
        self._answer = [random.random((1, 3, size, size), np.float32)]
        self._size = size

    def get_inputs(self) -> list[Any]:
        """As of `onnxruntime.InferenceSession`."""
        shape = [1, 3, self._size, self._size]
        return [SimpleNamespace(name="target", shape=shape), SimpleNamespace(name="source", shape=[1, 512])]

    def get_outputs(self) -> list[Any]:
        """As of `onnxruntime.InferenceSession`."""
        return [SimpleNamespace(name="output", shape=[1, 3, self._size, self._size])]

    def run(self, names: object, feed: object) -> list[NDArray[np.float32]]:
        """As of `onnxruntime.InferenceSession`."""
        return self._answer


def run(frames: int, progress: Callable[[str], None]) -> Report:
    """Measure `frames` frames."""
    report = Report("overhead")
    contract = read_catalogue(CATALOGUE)["inswapper_128"].contract
    session = Instant(contract.size)
    source = np.ones((1, 512), np.float32)
    ours = NeuralSwapper("inswapper_128", contract, session).follow(NeuralIdentity(source))
    least = Least(session, source, box_mask(contract.size))
    theirs = _insightface(session)
    person = SimpleNamespace(normed_embedding=np.ones(512, np.float32) / np.float32(np.sqrt(512)))
    scene = [_scene(number) for number in range(FRAMES)]
    spent: dict[str, list[float]] = {"kawari": [], "least": [], "insightface": []}
    with one_thread():
        for number in range(-6, frames):
            image, face = scene[number % FRAMES]
            points = five_points(face.landmarks)
            turns: list[tuple[str, Callable[[], object]]] = [
                ("kawari", lambda: swap(ours, image, face)),  # noqa: B023 - called before the next round
                ("least", lambda: least.swap(image, points)),  # noqa: B023
            ]
            turns.sort(key=lambda turn: turn[0], reverse=bool(number % 2))
            if number % _EVERY == 0 and theirs is not None:
                there = SimpleNamespace(kps=points)
                turns.append(("insightface", lambda: theirs.get(image, there, person)))  # noqa: B023
            for name, turn in turns:
                began = time.thread_time()
                turn()
                if number >= 0:
                    spent[name].append(time.thread_time() - began)
            progress(f"{number + 1} of {frames}")
    ms = {name: float(np.median(times)) * 1e3 if times else None for name, times in spent.items()}
    base = ms["least"] or float("nan")
    rows: list[list[Value]] = [[name, value, value and value / base] for name, value in ms.items()]
    report.table(
        f"around the network, {WIDTH}x{HEIGHT}, one face of {FACE} px",
        ("who", "CPU ms a frame", "× least"),
        rows,
    )
    report.figures |= {f"{name}_ms": value for name, value in ms.items()}
    report.figures["kawari_over_least"] = (ms["kawari"] or float("nan")) / base
    report.check("kawari_over_least", "<=", 1.2)
    if ms["insightface"] is not None:
        report.figures["insightface_over_kawari"] = ms["insightface"] / (ms["kawari"] or float("nan"))
        report.check("insightface_over_kawari", ">=", 10)
    report.notes.append("kawari: with the checks of the answer and the proof that the face was replaced")
    return report.finish()


def swap(face_swap: NeuralFaceSwap, image: Image, face: Face) -> Image:
    """What the pipeline does for a face, tracking and marking aside."""
    out = image.copy()
    patch = face_swap.patch(image, face, 1.0)
    assert patch is not None
    assert replaced(image, face, patch)
    paste(out, patch)
    return out


def _scene(number: int) -> tuple[Image, Face]:
    """A frame of soft noise and where its face is: 300 px wide, a little turned and moved."""
    random = np.random.default_rng(number)
    image = cv2.GaussianBlur(random.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8), (0, 0), 2)
    points = np.concatenate(
        [CANONICAL, [CANONICAL[RIGHT_EYE].mean(0)] * 5, [CANONICAL[LEFT_EYE].mean(0)] * 5]
    )
    angle = np.radians(random.uniform(-8, 8))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    points = points * (FACE / np.ptp(CANONICAL[:, 0]))
    points[:, :2] = points[:, :2] @ turn.T + (WIDTH / 2, HEIGHT / 2) + random.uniform(-60, 60, 2)
    return np.asarray(image, np.uint8), Face(0, points.astype(np.float32), 1.0)


def _insightface(session: Instant) -> Any | None:
    """InsightFace's own swapper around the same network; None where it can't be imported."""
    try:
        from insightface.model_zoo.inswapper import INSwapper
    except ImportError:
        return None
    picture = helper.make_tensor_value_info("target", TensorProto.FLOAT, (1, 3, 128, 128))
    graph = helper.make_graph(
        [helper.make_node("Identity", ["target"], ["output"])],
        "stand-in",
        [picture],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, (1, 3, 128, 128))],
        [numpy_helper.from_array(np.eye(512, dtype=np.float32), "emap")],
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stand-in.onnx"
        onnx.save(helper.make_model(graph), str(path))
        with contextlib.redirect_stdout(io.StringIO()):  # it prints its input's shape
            return INSwapper(str(path), session)
