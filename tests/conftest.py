"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.leaks import nothing_left_behind as nothing_left_behind
from tests.turns import turn

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("KAWARI_SHARED", ROOT.parent / "shared"))

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# Tests leave the key store of whoever runs them alone.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"


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


@pytest.fixture(scope="session")
def standins(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stand-in models with the contracts of the published ones: the tiny, predictable set."""
    folder = tmp_path_factory.mktemp("standins")
    script = shared / "prototypes" / "make_standins.py"
    subprocess.run(
        [sys.executable, str(script), str(folder), "--set", "tiny"], check=True, capture_output=True
    )
    return folder / "tiny"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that ask for the fixture `shared`, even through another one, get its marker."""
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.shared)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Outermost, so that waiting does not count as the test's time."""
    with turn(item.get_closest_marker("alone") is not None):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI, a test on ../shared must run where ../shared is: a skip would hide a broken machine."""
    report = yield
    expected = item.get_closest_marker("shared") is not None and SHARED.is_dir() and "KAWARI_CI" in os.environ
    if report.skipped and expected and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although {SHARED} is there: {report.longrepr}"
    return report
