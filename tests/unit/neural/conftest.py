"""Stand-in models with the contracts of the published ones, made once per test run."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.catalog import open_store
from engine.catalog.store import Store


@pytest.fixture
def store(standins: Path, tmp_path: Path) -> Store:
    """A store that holds the stand-ins of inswapper and ArcFace."""
    store = open_store(tmp_path / "home", trial=lambda _: None)
    for name, file in (
        ("inswapper_128", "inswapper_128.onnx"),
        ("arcface_w600k_r50", "models/buffalo_l/w600k_r50.onnx"),
    ):
        store.accept(name)
        store.add(name, standins / file, trust=True)
    return store
