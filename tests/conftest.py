"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("KAWARI_SHARED", ROOT.parent / "shared"))

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real clips, photos and models; tests that ask for it carry the marker `shared`."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared beside the checkout")
    return SHARED


@pytest.fixture(scope="session")
def clips(shared: Path) -> Path:
    return shared / "data" / "videos"


@pytest.fixture(scope="session")
def photos(shared: Path) -> Path:
    return shared / "data" / "images"
