"""Stand-in models with the contracts of the published ones, made once per test run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def standins(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny, predictable set."""
    folder = tmp_path_factory.mktemp("standins")
    script = shared / "prototypes" / "make_standins.py"
    subprocess.run(
        [sys.executable, str(script), str(folder), "--set", "tiny"], check=True, capture_output=True
    )
    return folder / "tiny"
