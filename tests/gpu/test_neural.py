"""On a GPU: `pytest -m gpu`; written without one at hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from app.bench import network
from engine.catalog import open_store
from engine.catalog.store import Store
from engine.runtime.device import CudaDevice
from engine.types import Frame, Shown
from tests.unit.neural.test_on_device import Rig, several, store

__all__ = ["several", "store"]  # fixtures
pytestmark = [pytest.mark.gpu, pytest.mark.timeout(900)]


@pytest.mark.shared
@pytest.mark.parametrize("fps", [30.0, 60.0])
def test_the_large_network_keeps_up_at_720p(shared: Path, tmp_path: Path, fps: float) -> None:
    """The real layers with random weights in half precision; thresholds are the bench's own."""
    script = shared / "prototypes" / "make_standins.py"
    subprocess.run(
        [sys.executable, str(script), str(tmp_path), "--set", "full", "--only", "inswapper_128"], check=True
    )
    file, own = tmp_path / "full" / "inswapper_128.onnx", open_store(tmp_path / "home")
    with network.store_of(own, "inswapper_128", file, half=True) as passing:
        report = network.run(passing, "inswapper_128", 600, 10, fps, print)
    print(report.text())
    assert report.figures["frames_on"] == "cuda:0", report.notes
    assert {check.figure for check in report.checks} >= {"fps", "efficiency", "uploads_a_frame", "p95_ms"}
    assert report.passed, report.text()


def test_frames_on_the_gpu_look_as_from_the_host(store: Store) -> None:
    ours = Rig(store, CudaDevice())
    twin = Rig(store, None, ours.world)
    assert ours.swapper.on_device is not None, ours.swapper.device_refusal
    assert ours.swapper.neural.session.rung.bound == "cuda"
    before = ours.device.uploads, ours.device.downloads
    made = ours.stream(60)
    assert (ours.device.uploads - before[0], ours.device.downloads - before[1]) == (60, 60)
    assert {output.shown for output in made} == {Shown.SWAPPED}
    image = made[-1].frame.image
    for number in range(3):
        (reference,) = twin.pipeline.stream([Frame(number, 0, image, number / 30)])
    difference = np.abs(made[-1].image.astype(int) - reference.image)
    assert difference.mean() < 0.5
    changed = (made[-1].image != image).any(2)
    assert not changed[:60].any()
    assert ours.events == []


def test_memory_that_runs_out_costs_no_frame(store: Store) -> None:
    device = CudaDevice()
    rig = Rig(store, device)
    rig.stream(5)
    device.free()
    device._pool.set_limit(size=device._pool.used_bytes() or 1)
    rig.world.height += 400
    assert {output.shown for output in rig.stream(10)} == {Shown.SWAPPED}
    assert rig.swapper.on_device is None
    assert [kind for kind, _ in rig.events] == ["swapper-fallback"]
