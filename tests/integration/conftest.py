"""Running the real command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT

Kawari = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A newcomer's: no screen, an empty home."""
    inherited = {
        k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    }
    home = tmp_path / "home"
    return {**inherited, "HOME": str(home), "KAWARI_HOME": str(home / "kawari"), "PYTHONPATH": str(ROOT)}


@pytest.fixture
def kawari(environment: dict[str, str], tmp_path: Path) -> Kawari:
    """Run `kawari` with these arguments in an empty folder; no traceback, whatever happens."""

    def run(*arguments: object, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "app", *map(str, arguments)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
            env=environment,
            cwd=tmp_path,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return run
