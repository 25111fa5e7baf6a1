"""Frames that live on a device: the product's own pipeline and session on a simulated one.

The network is a real one, run by ONNX Runtime on the device's buffers.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.catalog import open_store
from engine.catalog.entry import read_catalogue
from engine.catalog.opening import read_notes
from engine.catalog.store import Store
from engine.config import DelayConfig, NeuralConfig, SessionConfig, SwapConfig, Who
from engine.events import Report
from engine.live.session import Session
from engine.pipeline import Pipeline, Plan
from engine.runtime.device import Device, open_device
from engine.runtime.gpu import Gpu
from engine.runtime.network import Network
from engine.runtime.providers import Rung
from engine.swap.fallback import FallbackSwapper
from engine.swap.mesh import MeshSwapper
from engine.swap.neural.opening import open_neural
from engine.track.choice import FaceChoice, Which
from engine.types import Frame, Output, Shown
from models import CATALOGUE
from tests.scripted import CheckingSink, Person, Script, ScriptedTracker, World, WorldSource, shows
from tests.simulation import SimThreads
from tests.unit.neural import graphs
from tests.unit.runtime.simulated import SimulatedDevice
from tests.unit.swap.faces import photo

ENTRIES = read_catalogue(CATALOGUE)
NAMES = ("inswapper_128", "arcface_w600k_r50")


@pytest.fixture
def several() -> bool:
    """Whether the network takes several faces in one run; tests parametrise it."""
    return False


@pytest.fixture
def store(tmp_path: Path, several: bool) -> Store:
    """The swapper turns colours round, so that what it made is never like the face."""
    store = open_store(tmp_path / "home", trial=lambda _: None)
    for name in NAMES:
        entry, path = store.entry(name), tmp_path / f"{name}.onnx"
        if name == "inswapper_128":
            graphs.swapper(path, entry.contract, gain=-0.5, several=several)
        else:
            graphs.embedder(path)
        store.accept(name)
        store.add(name, path, trust=True)
    return store


class Runs:
    """Opens networks that count their runs and fail on command."""

    def __init__(self) -> None:
        self.count = 0
        self.faults: dict[str, Exception] = {}
        self.scale: dict[str, float] = {}

    def opener(self, path: Path) -> Any:
        runs = self

        class Counted(Network):
            def run(self, names: Any, feed: Any) -> list[np.ndarray]:
                runs.note(self.rung)
                return [output * runs.scale.get(self.rung.name, 1) for output in super().run(names, feed)]

            def on_device(self, inputs: Any, output: Any, address: Any) -> Any:
                queue = super().on_device(inputs, output, address)

                def counted() -> None:
                    runs.note(self.rung)
                    queue()
                    if self.rung.name in runs.scale:
                        output.view(np.ndarray)[:] *= runs.scale[self.rung.name]

                return counted

        return lambda rung: Counted(path, rung, threads=1)

    def note(self, rung: Rung) -> None:
        self.count += 1
        if rung.name in self.faults:
            raise self.faults[rung.name]


RUNGS = (
    Rung("GPU fp16", "CPUExecutionProvider", half=True),
    Rung("GPU", "CPUExecutionProvider"),
    Rung("processor", "CPUExecutionProvider", bound=""),
)
"""The first two share the simulated device's memory."""


@pytest.fixture(autouse=True)
def rungs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.catalog.opening.ladder", lambda **_: RUNGS)


class Rig:
    """A pipeline over people who do not move, with the swap on a device or on the host."""

    def __init__(
        self, store: Store, device: Device | None, world: World | None = None, **config: Any
    ) -> None:
        self.device, self.runs = device, Runs()
        self.store = store
        self.world = world or World([Person(1, 240, 180, 120)], 480, 360)
        self.events: list[tuple[str, str]] = []
        self.swapper: FallbackSwapper = open_neural(
            "inswapper_128", store, store.folder, MeshSwapper(), self.runs.opener, NeuralConfig(**config),
            lambda: device,
        )  # fmt: skip
        self.identity = self.swapper.prepare([photo()])
        self.script = Script()
        self.pipeline = self.build(Plan({0: self.identity}, FaceChoice(Which.ALL)), self.note)
        self.clock = itertools.count()
        if isinstance(device, SimulatedDevice):
            self.reset()

    def reset(self) -> None:
        """Forget what the check at the start did."""
        assert isinstance(self.device, SimulatedDevice)
        self.device.uploads = self.device.downloads = self.runs.count = 0
        self.device.clock = dict.fromkeys(self.device.clock, 0.0)
        self.device.host = 0.0

    def build(self, plan: Plan, report: Report) -> Pipeline:
        return Pipeline(ScriptedTracker(self.world, self.script), self.swapper, plan, report=report)

    def note(self, kind: str, message: str = "", **data: Any) -> None:
        self.events.append((kind, message))

    def frames(self, count: int) -> Iterator[Frame]:
        for _ in range(count):
            number = next(self.clock)
            yield Frame(number, 0, self.world.picture(), number / 30)

    def stream(self, count: int) -> list[Output]:
        outputs = list(self.pipeline.stream(self.frames(count)))
        for output in outputs:
            self.check(output)
        return outputs

    def check(self, output: Output) -> None:
        for person in self.world.log[id(output.frame.image)][1]:
            assert not shows(output.image, output.frame.image, person), (output.shown, output.reason)

    def settle(self, rung: str) -> None:
        deadline = time.monotonic() + 20
        while self.swapper.runs_on != rung:
            assert time.monotonic() < deadline, self.events
            self.stream(1)
            time.sleep(0.01)


@pytest.mark.parametrize("several", [False, True])
def test_every_frame_crosses_once_and_looks_as_from_the_host(store: Store, several: bool) -> None:
    world = World([Person(1, 120, 180, 100), Person(2, 350, 170, 110)], 480, 360)
    ours, twin = Rig(store, SimulatedDevice(), world), Rig(store, None, world)
    assert ours.pipeline.depth == 3
    assert twin.pipeline.depth == 1
    made = ours.stream(30)
    assert ours.device.uploads == ours.device.downloads == 30
    assert ours.runs.count == (30 if several else 60)
    assert [output.frame.id for output in made] == list(range(30))
    for output in made:
        assert output.shown is Shown.SWAPPED
        assert output.swapped == (1, 2)
        image = output.frame.image
        (reference,) = twin.pipeline.stream([Frame(next(twin.clock), 0, image, output.frame.pts)])
        difference = np.abs(output.image.astype(int) - reference.image)
        # OpenCV rounds positions to 1/32 px; the faces here are noise from pixel to pixel.
        assert difference.mean() < 0.5
        assert difference.max() <= 12
        changed = (output.image != image).any(2)
        assert np.array_equal(output.image[~changed], image[~changed])
        assert not changed[:60].any()
        assert not changed[:, 225:240].any()  # between the two
    assert ours.events == []


@pytest.mark.parametrize("overlap", [False, True])
def test_a_live_session_copies_once_each_way(store: Store, overlap: bool) -> None:
    rig = Rig(store, SimulatedDevice())
    sink = CheckingSink(rig.world)
    config = SessionConfig(swap=SwapConfig(who=Who.ALL), overlap=overlap)
    source = WorldSource(rig.world, fps=100, live=False, frames=60)
    with Session(config, source, [sink], identity=rig.identity, build=rig.build) as session:
        session.wait(60)
        made = session.stats().frames_out
    assert made == 60
    assert rig.device.uploads == rig.device.downloads == made
    assert sink.problems == []
    assert {output.shown for output in sink.outputs} == {Shown.SWAPPED}
    for output in sink.outputs:
        rig.check(output)


@pytest.mark.parametrize("costs", [*itertools.permutations((2.0, 5.0, 3.0)), (4.0, 4.0, 4.0)])
def test_a_frame_takes_as_long_as_its_longest_part(store: Store, costs: tuple[float, ...]) -> None:
    rig = Rig(store, SimulatedDevice(*costs))
    frames = 60
    rig.stream(frames)
    assert rig.device.uploads == rig.device.downloads == frames
    ideal = max(costs) * frames
    assert ideal / rig.device.host >= 0.95
    assert rig.device.host >= ideal  # or the simulation lies


def test_one_after_the_other_takes_the_sum(store: Store) -> None:
    """The same simulation shows no overlap where there is none."""
    rig = Rig(store, SimulatedDevice(2.0, 5.0, 3.0))
    for frame in rig.frames(50):
        rig.pipeline.process(frame)
    assert rig.device.host == pytest.approx(500)


def simulated_session(store: Store, fps: float, count: int) -> tuple[float, list[float]]:
    """A live session on simulated time; seconds a frame, and each frame's delay in seconds."""
    threads = SimThreads(seed=1)
    device = SimulatedDevice(0.030, 0.060, 0.040, now=lambda: threads.time / 1e9, sleep=threads.sleep)
    rig = Rig(store, device)
    source = WorldSource(rig.world, fps=fps, now=threads.now, wait=threads.sleep)
    times: list[float] = []
    delays: list[float] = []

    class Sink(CheckingSink):
        def write(self, output: Output) -> None:
            rig.check(output)
            if output.shown is Shown.SWAPPED:
                times.append(threads.time / 1e9)
                delays.append((threads.time - output.frame.captured_ns) / 1e9)

    config = SessionConfig(
        swap=SwapConfig(who=Who.ALL), overlap=False, delay=DelayConfig(hard_ms=0, adapt=False)
    )
    session = Session(
        config, source, [Sink(rig.world)], identity=rig.identity, build=rig.build, threads=threads
    )
    session.start()
    while len(times) < count:
        assert threads.time < 60e9
        threads.sleep(0.1)
    session.stop()
    return (times[-1] - times[5]) / (len(times) - 6), delays


def test_a_session_keeps_the_device_busy(store: Store) -> None:
    """Its parts take 30, 60 and 40 ms, the host's work some more."""
    seconds, _ = simulated_session(store, 60, 60)
    assert 0.059 <= seconds <= 0.060 / 0.95


def test_no_picture_waits_for_the_next_one(store: Store) -> None:
    """A slow camera: a frame leaves when it is done, not when another has come."""
    _, delays = simulated_session(store, 2, 8)
    assert max(delays) < 0.130 + 0.04


FAULTS = {
    "upload": RuntimeError("cudaErrorLaunchFailure: unspecified launch failure"),
    "compute": RuntimeError("CUDA error: device lost"),
    "download": RuntimeError("cudaErrorInvalidValue"),
    "allocate": MemoryError("Out of memory allocating 2,764,800 bytes"),
    "synchronise": RuntimeError("cudaErrorIllegalAddress"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_device_that_fails_gives_the_frames_back_to_the_host(store: Store, fault: str) -> None:
    """What was under way is swapped on the host, too: no frame is lost, none leaks."""
    device = SimulatedDevice()
    rig = Rig(store, device)
    frames = rig.frames(20)
    outputs = []
    for number, output in enumerate(rig.pipeline.stream(frames)):
        rig.check(output)
        outputs.append(output)
        if number == 7:
            device.faults = {fault: FAULTS[fault], "free": RuntimeError("gone")}
            if fault == "allocate":  # the camera changes its resolution, so that buffers are needed
                rig.world.height += 40
    assert [output.frame.id for output in outputs] == list(range(20))
    assert {output.shown for output in outputs} == {Shown.SWAPPED}
    assert rig.swapper.on_device is None
    assert rig.pipeline.depth == 1
    assert rig.swapper.runs_on == "GPU fp16"  # the network itself goes on, from the host's memory
    assert [kind for kind, _ in rig.events] == ["swapper-fallback"]
    assert "host" in rig.events[0][1]


def test_host_then_processor_then_mesh(store: Store) -> None:
    device = SimulatedDevice()
    rig = Rig(store, device)
    rig.stream(5)
    device.faults["synchronise"] = RuntimeError("device lost")
    lost = RuntimeError("CUDA error: device lost")
    rig.runs.faults = {"GPU fp16": lost, "GPU": lost}
    rig.stream(5)
    rig.settle("processor")
    before = rig.runs.count
    assert {output.shown for output in rig.stream(5)} == {Shown.SWAPPED}
    assert rig.runs.count == before + 5
    rig.runs.faults["processor"] = RuntimeError("illegal instruction")
    assert {output.shown for output in rig.stream(10)} == {Shown.SWAPPED}
    assert rig.swapper.runs_on == "mesh"
    assert "stage-failed" not in [kind for kind, _ in rig.events]


def test_a_network_that_fails_on_the_device_costs_no_frame(store: Store) -> None:
    """Its error comes out of the queue: from there it can't be told from the device's own."""
    rig = Rig(store, SimulatedDevice())
    rig.stream(5)
    rig.runs.faults["GPU fp16"] = RuntimeError("CUBLAS failure")
    assert {output.shown for output in rig.stream(5)} == {Shown.SWAPPED}
    rig.settle("GPU")
    assert rig.swapper.on_device is None
    assert {output.shown for output in rig.stream(5)} == {Shown.SWAPPED}


@pytest.mark.parametrize("scale", [float("nan"), 0.0])
def test_no_picture_from_half_precision_leads_to_the_exact_rung_on_the_device(
    store: Store, scale: float
) -> None:
    device = SimulatedDevice()
    rig = Rig(store, device)
    rig.stream(5)
    first = rig.swapper.on_device
    rig.runs.scale["GPU fp16"] = scale
    assert {output.shown for output in rig.stream(4)} == {Shown.SWAPPED}
    rig.settle("GPU")
    assert rig.swapper.on_device not in (None, first)
    rig.reset()
    assert {output.shown for output in rig.stream(10)} == {Shown.SWAPPED}
    assert device.uploads == device.downloads == rig.runs.count == 10


def test_a_face_that_can_not_be_seen_stays_hidden(store: Store) -> None:
    """Half of the faces have no points, or lie outside the picture; nothing is blamed for it."""
    rig = Rig(store, SimulatedDevice())
    rig.stream(3)
    rig.script.swap_nan = True
    assert Shown.SWAPPED not in {output.shown for output in rig.stream(3)}
    rig.script.swap_nan = False
    rig.world.people[0].x += 5000
    rig.stream(3)
    rig.world.people[0].x -= 5000
    assert rig.stream(3)[-1].shown is Shown.SWAPPED
    assert rig.swapper.on_device is not None
    assert rig.events == []


def test_more_around_the_network(store: Store) -> None:
    """Pixel boost and colour match on the device look as on the host."""
    config = {"boost": 2, "match_colour": True}
    ours = Rig(store, SimulatedDevice(), **config)
    twin = Rig(store, None, ours.world, **config)
    output = ours.stream(3)[-1]
    assert ours.device.uploads == 3
    assert ours.runs.count == 12
    image = output.frame.image
    for _ in range(3):
        (reference,) = twin.pipeline.stream([Frame(next(twin.clock), 0, image, 1.0)])
    difference = np.abs(output.image.astype(int) - reference.image)
    assert difference.mean() < 0.5
    assert difference.max() <= 16


@pytest.mark.parametrize("config", [{"outline": True}, {"keep_mouth": True}])
def test_masks_of_the_picture_keep_frames_on_the_host(store: Store, config: dict[str, bool]) -> None:
    rig = Rig(store, SimulatedDevice(), **config)
    assert rig.swapper.on_device is None
    assert {output.shown for output in rig.stream(3)} == {Shown.SWAPPED}
    assert rig.device.uploads == 0
    assert "keeping frames on the GPU" not in read_notes(store.folder)["inswapper_128"]["refused"]


def test_a_device_counts_only_after_it_swapped_as_the_host_does(store: Store) -> None:
    class Wrong(SimulatedDevice):
        def download(self, device: Any, host: Any) -> None:
            super().download(device, host)
            host[:9000] = 0

    device = Wrong()
    rig = Rig(store, device)
    assert rig.pipeline.depth == 1
    assert {output.shown for output in rig.stream(3)} == {Shown.SWAPPED}
    refused = read_notes(store.folder)["inswapper_128"]["refused"]
    assert refused == {"keeping frames on the GPU": "simulated swaps otherwise than the host"}


def test_a_gpu_without_cupy_is_noted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.runtime.device.first_gpu", lambda: Gpu("RTX", 13000, 8 << 30))
    monkeypatch.setitem(sys.modules, "cupy", None)
    swapper = open_neural("inswapper_128", store, store.folder, MeshSwapper(), open_device=open_device)
    assert swapper.depth == 1
    refused = read_notes(store.folder)["inswapper_128"]["refused"]
    assert refused == {"keeping frames on the GPU": "CuPy is not installed"}


def test_sources_change_in_mid_stream(store: Store) -> None:
    """The source lives on the device, and another one takes its place with the next frame."""
    rig = Rig(store, SimulatedDevice())
    before = rig.stream(5)[-1]
    other = replace(photo(skin=(20, 200, 60)), digest="1" * 64)
    rig.pipeline.change(identities={0: rig.swapper.prepare([other])})
    after = rig.stream(5)
    assert {output.shown for output in after} == {Shown.SWAPPED}
    difference = after[-1].image.astype(int) - before.image
    assert np.abs(difference[150:200, 210:270]).mean() > 3
