"""On a GPU: the large stand-in in half precision at 720p. `pytest -m gpu`; written without one at hand."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from app.bench.neural import Instant, _scene, swap
from engine.catalog.entry import read_catalogue
from engine.runtime.climb import Climb
from engine.runtime.network import Network
from engine.runtime.precision import to_fp16
from engine.runtime.providers import ladder
from engine.swap.neural.swapper import NeuralIdentity, NeuralSwapper
from models import CATALOGUE

pytestmark = [pytest.mark.gpu, pytest.mark.shared, pytest.mark.timeout(900)]


def test_the_large_network_keeps_up_at_720p(shared: Path, tmp_path: Path) -> None:
    script = shared / "prototypes" / "make_standins.py"
    subprocess.run(
        [sys.executable, str(script), str(tmp_path), "--set", "full", "--only", "inswapper_128"], check=True
    )
    half = tmp_path / "half.onnx"
    to_fp16(tmp_path / "full" / "inswapper_128.onnx", half)
    climb = Climb(ladder(cache=tmp_path / "engines", model="half"), lambda rung: Network(half, rung))
    session = climb.step()
    assert session.rung.bound == "cuda", climb.refusals

    class Timed(Instant):
        spent = 0.0

        def run(self, names: object, feed: object) -> list[np.ndarray]:
            began = time.perf_counter()
            answer = session.run(None, feed)  # type: ignore[arg-type]
            self.spent += time.perf_counter() - began
            return answer

    timed = Timed(128)
    contract = read_catalogue(CATALOGUE)["inswapper_128"].contract
    source = np.random.default_rng(0).normal(size=(1, 512)).astype(np.float32)
    source /= np.linalg.norm(source)
    follow = NeuralSwapper("inswapper_128", contract, timed).follow(NeuralIdentity(source))
    scenes = [_scene(number) for number in range(4)]
    for image, face in scenes:
        swap(follow, image, face)
    timed.spent, times = 0.0, []
    for number in range(200):
        began = time.perf_counter()
        swap(follow, *scenes[number % 4])
        times.append(time.perf_counter() - began)
    fps, late = 200 / sum(times), float(np.quantile(times, 0.95))
    print(
        f"{session.rung.name}: {fps:.0f} fps, p95 {late * 1e3:.1f} ms, model {timed.spent / sum(times):.2f}"
    )
    assert fps >= 60
    assert late <= 0.05
