"""A network that fails never stops the picture and never shows the face."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.catalog.opening import Opener
from engine.catalog.store import Store
from engine.config import SessionConfig, SwapConfig, Who
from engine.errors import ModelError
from engine.events import Report
from engine.identity.consent import Basis, ConsentStore
from engine.identity.library import IdentityLibrary, embeddings_of
from engine.live.session import Session
from engine.pipeline import Pipeline, Plan
from engine.runtime.climb import OpenRung
from engine.runtime.network import Network
from engine.runtime.providers import Rung
from engine.swap.fallback import FallbackSwapper
from engine.swap.mesh import MeshSwapper
from engine.swap.neural.opening import open_neural
from engine.track.choice import FaceChoice, Which
from engine.types import Face, Frame, Shown
from tests.scripted import CheckingSink, Person, Script, ScriptedTracker, World, WorldSource
from tests.unit.swap.faces import landmarks, photo

pytestmark = pytest.mark.shared


def world() -> World:
    return World([Person(1, 240, 180, 120)], 480, 360)


class Failing:
    """Sessions that work until they are told to fail, and count their runs."""

    def __init__(self) -> None:
        self.faults: dict[str, Exception | Callable[[list[np.ndarray]], list[np.ndarray]]] = {}
        self.runs: dict[str, int] = {}
        self.gate = threading.Event()
        self.gate.set()

    def opener(self) -> Opener:
        def by_path(path: Path) -> OpenRung:
            def open_rung(rung: Rung) -> Any:
                self.gate.wait(10)
                return Session_(Network(path, rung, threads=1), path.stem, self)

            return open_rung

        return by_path


class Session_:
    def __init__(self, network: Network, name: str, plan: Failing) -> None:
        self.network, self.name, self.plan, self.rung = network, name, plan, network.rung
        self.get_inputs, self.get_outputs = network.get_inputs, network.get_outputs
        self.run_unbound = network.run_unbound

    def run(self, names: Any, feed: Any) -> list[np.ndarray]:
        self.plan.runs[self.name] = self.plan.runs.get(self.name, 0) + 1
        fault = self.plan.faults.get(self.rung.name)
        if isinstance(fault, Exception):
            raise fault
        outputs = self.network.run(names, feed)
        return fault(outputs) if fault else outputs


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Failing:
    rungs = (
        Rung("fast", "CPUExecutionProvider", half=True),
        Rung("small", "CPUExecutionProvider", only_memory=True),
        Rung("sure", "CPUExecutionProvider"),
    )
    monkeypatch.setattr("engine.catalog.opening.ladder", lambda **_: rungs)
    return Failing()


@pytest.fixture
def swapper(store: Store, failing: Failing, tmp_path: Path) -> FallbackSwapper:
    return open_neural("inswapper_128", store, tmp_path / "identities", MeshSwapper(), failing.opener())


class Run:
    """A pipeline over one still face."""

    def __init__(self, swapper: FallbackSwapper) -> None:
        self.events: list[tuple[str, str]] = []
        identity = swapper.prepare([photo()])
        self.world = world()
        tracker = ScriptedTracker(self.world, Script())
        self.pipeline = Pipeline(
            tracker, swapper, Plan({0: identity}, FaceChoice(Which.ALL)), report=self.note
        )
        self.swapper = swapper
        self.clock = itertools.count()

    def note(self, kind: str, message: str = "", **data: Any) -> None:
        self.events.append((kind, str(data.get("rung", message))))

    def frame(self) -> np.ndarray:
        image = self.world.picture()
        output = self.pipeline.process(Frame(next(self.clock), 0, image, next(self.clock) / 30))
        assert output.shown is Shown.SWAPPED, output.reason
        return output.image

    def until_settled(self, rung: str) -> None:
        deadline = time.monotonic() + 20
        while self.swapper.runs_on != rung:
            assert time.monotonic() < deadline, self.events
            self.frame()
            time.sleep(0.01)
        self.frame()


def blank(outputs: list[np.ndarray]) -> list[np.ndarray]:
    return [np.zeros_like(output) for output in outputs]


def nans(outputs: list[np.ndarray]) -> list[np.ndarray]:
    return [output * np.float32("nan") for output in outputs]


def test_out_of_memory_smaller_then_cpu_then_mesh(swapper: FallbackSwapper, failing: Failing) -> None:
    run = Run(swapper)
    run.frame()
    assert swapper.runs_on == "fast"
    failing.faults["fast"] = RuntimeError("CUDA error: out of memory")
    run.frame()
    run.until_settled("small")
    failing.faults["small"] = MemoryError()
    run.until_settled("sure")
    failing.faults["sure"] = RuntimeError("illegal instruction")
    for _ in range(5):
        run.frame()
    assert swapper.runs_on == "mesh"
    kinds = [kind for kind, _ in run.events]
    assert kinds.count("swapper-ready") == 2
    assert run.events[-1] == ("swapper-fallback", "mesh")
    assert "stage-failed" not in kinds


@pytest.mark.parametrize("broken", [blank, nans])
def test_no_picture_from_half_precision_leads_to_the_exact_rung(
    swapper: FallbackSwapper, failing: Failing, broken: Any
) -> None:
    run = Run(swapper)
    run.frame()
    failing.faults["fast"] = broken
    for _ in range(3):
        run.frame()
    run.until_settled("sure")


def test_one_bad_picture_changes_nothing(swapper: FallbackSwapper, failing: Failing) -> None:
    run = Run(swapper)
    failing.faults["fast"] = blank
    run.frame()
    failing.faults.clear()
    for _ in range(4):
        run.frame()
    assert swapper.runs_on == "fast"
    assert run.events == []


def test_the_mesh_goes_on_while_the_next_session_is_opened(
    swapper: FallbackSwapper, failing: Failing
) -> None:
    run = Run(swapper)
    by_network = run.frame()
    failing.gate.clear()
    failing.faults["fast"] = RuntimeError("device lost")
    by_mesh = [run.frame() for _ in range(10)]  # returns although nothing can be opened
    assert swapper.runs_on == "mesh"
    assert np.abs(by_mesh[-1].astype(int) - by_network).max() > 20
    failing.gate.set()
    run.until_settled("sure")


@pytest.mark.parametrize("place", ["nan", "outside", "dark"])
def test_a_face_that_can_not_be_seen_is_no_fault_of_the_network(swapper: FallbackSwapper, place: str) -> None:
    follow = swapper.follow(swapper.prepare([photo()]))
    points, image = landmarks(), np.full((480, 640, 3), 7, np.uint8)
    if place == "nan":
        points[468] = np.nan
    if place == "outside":
        points[:, 0] += 5000
        image[::2] = 200
    for _ in range(5):
        assert follow.patch(image, Face(0, points, 1.0), 0.8) is None
    assert swapper.runs_on == "fast"


def test_too_slow_to_be_live_leaves_it_to_the_mesh(swapper: FallbackSwapper) -> None:
    run = Run(swapper)
    swapper.steps._climb.seconds = 0.7
    run.frame()
    assert swapper.runs_on == "fast"  # a file has time
    swapper.limit_s = 0.2
    for _ in range(3):
        run.frame()
    assert swapper.runs_on == "mesh"
    assert [kind for kind, _ in run.events] == ["swapper-fallback"]


def test_a_model_that_nothing_can_run_is_one_error(store: Store, failing: Failing, tmp_path: Path) -> None:
    failing.faults = dict.fromkeys(("fast", "small", "sure"), RuntimeError("no kernel\nstack"))
    with pytest.raises(ModelError, match="no kernel"):
        open_neural("inswapper_128", store, tmp_path, MeshSwapper(), failing.opener())


def test_the_embedding_is_computed_once_per_source(
    swapper: FallbackSwapper, failing: Failing, tmp_path: Path
) -> None:
    """300 live frames, the source switched twice (there and back)."""
    sources = [photo(), photo(skin=(60, 80, 120))]
    sources = [replace_digest(one, str(number) * 64) for number, one in enumerate(sources)]
    library = IdentityLibrary(tmp_path / "identities", ConsentStore(tmp_path / "consent"))
    for one in sources:
        library.consents.give(one.digest, Basis.FICTIONAL)
    scene = world()
    sink = CheckingSink(scene, keep=1)
    count = [0]

    def counted(output: Any) -> None:
        count[0] += 1

    sink.write = counted  # type: ignore[method-assign]

    def build(plan: Plan, report: Report) -> Pipeline:
        return Pipeline(ScriptedTracker(scene, Script()), swapper, plan, report=report)

    before = failing.runs.get("w600k_r50", 0)
    config = SessionConfig(swap=SwapConfig(who=Who.ALL))
    first = library.prepare(swapper, [sources[0]])
    with Session(config, WorldSource(scene, fps=200), [sink], identity=first, build=build) as session:
        switches = {100: 1, 200: 0}
        deadline = time.monotonic() + 60
        while count[0] < 300:
            assert time.monotonic() < deadline
            if switches and count[0] >= min(switches):
                session.set_identity(library.prepare(swapper, [sources[switches.pop(min(switches))]]))
            time.sleep(0.002)
        assert session.stats().shown == "swapped"
    assert not switches
    assert failing.runs["w600k_r50"] - before == 2
    assert failing.runs["inswapper_128"] >= 290
    library.revoke(sources[0].digest)
    kept = [path.name[:1] for path in embeddings_of(tmp_path / "identities").iterdir()]
    assert kept == ["1"]


def replace_digest(one: Any, digest: str) -> Any:
    from dataclasses import replace

    return replace(one, digest=digest)
