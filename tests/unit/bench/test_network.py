"""The neural bench on a simulated device: it counts what crosses, and judges what a GPU must reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.bench import network
from app.bench.report import Report
from engine.catalog import open_store
from engine.catalog.entry import read_catalogue
from engine.errors import ModelError
from engine.runtime.device import Device
from engine.runtime.providers import Rung
from models import CATALOGUE
from tests.unit.neural import graphs
from tests.unit.runtime.simulated import SimulatedDevice


@pytest.fixture
def file(tmp_path: Path) -> Path:
    contract = read_catalogue(CATALOGUE)["inswapper_128"].contract
    return graphs.swapper(tmp_path / "tiny.onnx", contract, gain=-0.5)


def measured(tmp_path: Path, file: Path, device: Device | None) -> Report:
    own = open_store(tmp_path / "home")
    with network.store_of(own, "inswapper_128", file, half=False) as store:
        report = network.run(store, "inswapper_128", 30, 1.5, 15, lambda text: None, lambda: device)
    assert own.installed("inswapper_128") is None  # nothing was added to the user's own
    return report


def test_on_a_device(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.catalog.opening.ladder", lambda **_: (Rung("GPU", "CPUExecutionProvider"),))
    report = measured(tmp_path, file, SimulatedDevice())
    assert report.figures["frames_on"] == "simulated"
    assert report.figures["uploads_a_frame"] == report.figures["downloads_a_frame"] == 1
    assert report.passed, report.text()


def test_on_the_host(tmp_path: Path, file: Path) -> None:
    report = measured(tmp_path, file, None)
    assert report.figures["frames_on"] == "host"
    assert report.figures["uploads_a_frame"] == 0
    assert 0 < float(report.figures["efficiency"] or 0) < 1
    assert report.passed, report.text()


def test_without_the_network_one_sentence(tmp_path: Path) -> None:
    own = open_store(tmp_path / "home")
    with (
        pytest.raises(ModelError, match="kawari models get inswapper_128"),
        network.store_of(own, "inswapper_128", None, half=False) as store,
    ):
        network.run(store, "inswapper_128", 5, 1, 15, lambda text: None)
