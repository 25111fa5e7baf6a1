"""`kawari bench neural`: a swapper network in the product's own session, on whatever runs it here.

Two sessions with tracker, guard and marks on 1280×720 pictures with one face of 300 px: one that
takes frames as fast as it can (rate, copies, and how much of a frame's time is the network's own), and
one that is fed like a camera (delay). The source person is a random direction: no embedder is needed,
and the cost does not depend on who it is.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.bench.arrivals import NotingSink
from app.bench.making import marker
from app.bench.report import Relation, Report
from app.bench.scene import Scene
from engine.catalog.store import Store
from engine.config import HealthConfig, SessionConfig
from engine.live.session import Session
from engine.runtime.device import open_device
from engine.runtime.precision import to_fp16
from engine.sources.base import Source, SourceInfo
from engine.sources.paced import PacedSource
from engine.swap.fallback import FallbackIdentity, FallbackSwapper
from engine.swap.mesh import MeshSwapper
from engine.swap.neural.opening import OpenDevice, open_neural
from engine.swap.neural.swapper import NeuralIdentity
from engine.types import Frame, Image

SCENE = Scene(1280, 720, 300)
LOOP = 24
_PATIENT = HealthConfig(stage_s=60)
"""A large network on a processor takes seconds, which is no fault here."""
_SETTLE = 0.2
"""Part of a session that is not counted."""
_SLOW_S = 0.1
_ON_A_GPU: tuple[tuple[str, Relation, float], ...] = (
    ("fps", ">=", 60),
    ("efficiency", ">=", 0.85),
    ("uploads_a_frame", "<=", 1),
    ("downloads_a_frame", "<=", 1),
    ("p95_ms", "<=", 50),
)


class UnpacedSource:
    """Gives pictures in a loop as fast as they are taken."""

    def __init__(self, images: Sequence[Image], frames: int, fps: float = 30.0) -> None:
        self._images = images
        self._frames = frames
        self._fps = fps
        self._next = 0

    def open(self) -> SourceInfo:
        """See `engine.sources.base.Source`."""
        height, width = self._images[0].shape[:2]
        return SourceInfo("unpaced", width, height, self._fps, live=False, frames=self._frames)

    def read(self) -> Frame | None:
        """See `engine.sources.base.Source`."""
        number, self._next = self._next, self._next + 1
        if number >= self._frames:
            return None
        image = self._images[number % len(self._images)]
        return Frame(number, time.monotonic_ns(), image, number / self._fps)

    def close(self) -> None:
        """See `engine.sources.base.Source`."""


@contextlib.contextmanager
def store_of(store: Store, name: str, file: Path | None, half: bool) -> Iterator[Store]:
    """A store that holds the network by itself: the user's own, or a passing one around a file.

    Args:
        store: the user's.
        name: of the swapper whose contract it has.
        file: an ONNX file; None for the one in the store.
        half: convert it to half precision first.

    Raises:
        ModelError: the file does not fit, or the model is not in the store.
    """
    catalogue = {**store.catalogue, name: replace(store.entry(name), needs=())}
    if file is None and not half:
        yield Store(store.folder, catalogue, store.mirror)
        return
    with tempfile.TemporaryDirectory() as folder:
        source = file or store.path(name)
        if half:
            source, exact = Path(folder) / f"{name}-half.onnx", source
            to_fp16(exact, source)
        passing = Store(Path(folder) / "models", catalogue)
        passing.accept(name)  # a file that is at hand already
        passing.add(name, source, trust=True)
        yield passing


def run(
    store: Store,
    name: str,
    frames: int,
    seconds: float,
    fps: float,
    progress: Callable[[str], None],
    device: OpenDevice = open_device,
) -> Report:
    """Measure a swapper.

    Args:
        store: holds it, see `store_of`.
        name: the swapper's.
        frames: taken as fast as possible.
        seconds, fps: of the session that is fed like a camera.
        progress: told what is done.
        device: opens the device on which frames may live.

    Raises:
        ModelError: it is not there, or nothing here can run it.
    """
    report = Report("neural")
    progress(f"opening {name}")
    swapper = open_neural(name, store, store.folder, MeshSwapper(), open_device=device)
    away, runs_on = swapper.on_device, swapper.runs_on
    images = [frame.image for frame in SCENE.frames(LOOP)]
    progress("as fast as it can")
    before = (away.device.uploads, away.device.downloads) if away is not None else (0, 0)
    fast = _session(swapper, UnpacedSource(images, frames), frames, None)
    after = (away.device.uploads, away.device.downloads) if away is not None else (0, 0)
    progress("like a camera")
    live = _session(swapper, PacedSource(images, fps), round((seconds + 1) * (fps + 30)), seconds)
    progress("the network alone")
    model_s = alone(swapper, 20 if swapper.steps.seconds < _SLOW_S else 2)
    frame_s, delays = _pace(fast), _delays(live)
    report.figures |= {
        "runs_on": runs_on,
        "frames_on": away.device.name if away is not None else "host",
        "fps": 1 / frame_s,
        "frame_ms": frame_s * 1e3,
        "model_ms": model_s * 1e3,
        "efficiency": model_s / frame_s,
        "uploads_a_frame": (after[0] - before[0]) / frames,
        "downloads_a_frame": (after[1] - before[1]) / frames,
        "p50_ms": None if delays is None else float(np.quantile(delays, 0.5)),
        "p95_ms": None if delays is None else float(np.quantile(delays, 0.95)),
        "swapped": float(fast.swapped[: fast.count].mean()),
        "fell_back": int(swapper.runs_on != runs_on or swapper.on_device is not away),
    }
    report.check("swapped", ">=", 0.99)
    report.check("fell_back", "<=", 0)
    if swapper.neural.session.rung.bound == "cuda":
        for figure, relation, limit in _ON_A_GPU:
            report.check(figure, relation, limit)
    report.notes += [
        "fps: tracker, swap, guard and marks in a session, as fast as they can, after a fifth of the frames;",
        "efficiency: time of one run of the network by itself, over the time of a frame;",
        "p50, p95: from a frame's time to its arrival at the sink, in a session fed like a camera;",
        "rates, copies and delays are held to thresholds on a GPU only.",
    ]
    if swapper.device_refusal:
        report.notes.append(f"frames stay on the host: {swapper.device_refusal}")
    return report.finish()


def alone(swapper: FallbackSwapper, runs: int) -> float:
    """Seconds that one run of the network takes by itself, one after the other, where its buffers lie."""
    network, away = swapper.neural.session, swapper.on_device
    random = np.random.default_rng(1)
    feed = {
        each.name: random.random(
            [side if isinstance(side, int) else 1 for side in each.shape], np.float32
        ).astype(network.types[each.name])
        for each in network.get_inputs()
    }
    if away is None:
        return _seconds(lambda: network.run(None, feed), runs, lambda: None)
    device = away.device
    output = network.get_outputs()[0].name
    inputs = {name: device.keep(array) for name, array in feed.items()}
    # A picture's output has its input's shape, whatever the file declares.
    made = device.empty(inputs[swapper.neural.target_name].shape, network.types[output])
    queue = network.on_device(inputs, made, device.address)
    with device.on("compute"):
        return _seconds(queue, runs, lambda: device.synchronise(device.record("compute")))


def _seconds(go: Callable[[], Any], runs: int, wait: Callable[[], None]) -> float:
    go()
    wait()
    began = time.perf_counter()
    for _ in range(runs):
        go()
    wait()
    return (time.perf_counter() - began) / runs


def _session(swapper: FallbackSwapper, source: Source, room: int, seconds: float | None) -> NotingSink:
    """What a session delivers; of a source that ends without `seconds`."""
    random = np.random.default_rng(0)
    side = swapper.neural.contract.source_size
    shape = (1, 3, side, side) if side else (1, 512)
    person = random.normal(0, 1 / np.sqrt(shape[-1]), shape).astype(np.float32)
    sink = NotingSink(room)
    identity = FallbackIdentity(NeuralIdentity(person), None)
    session = Session(
        SessionConfig(health=_PATIENT), source, [sink],
        identity=identity, swapper=swapper, marker=marker(swapper.name),
    )  # fmt: skip
    with session:
        session.wait(seconds)
    return sink


def _pace(sink: NotingSink) -> float:
    """Seconds from one picture to the next."""
    first = int(sink.count * _SETTLE)
    return float(sink.arrived_ns[sink.count - 1] - sink.arrived_ns[first]) / 1e9 / (sink.count - 1 - first)


def _delays(sink: NotingSink) -> NDArray[np.float64] | None:
    """Milliseconds of each picture that shows a swap; None of fewer than ten."""
    count = min(sink.count, len(sink.ids))
    first = int(count * _SETTLE)
    swapped = sink.swapped[first:count]
    delays = (sink.arrived_ns - sink.captured_ns)[first:count][swapped] / 1e6
    return delays if len(delays) >= 10 else None
