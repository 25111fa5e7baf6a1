"""The engine must work where PySide6 is not installed: every module of it, in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

BLOCK = """
import importlib, importlib.abc, pkgutil, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"PySide6", "shiboken6", "app"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
IMPORT_ALL = """
import engine
names = [one.name for one in pkgutil.walk_packages(engine.__path__, "engine.")]
assert len(names) > 10, names
for name in names:
    importlib.import_module(name)
assert not any(name.startswith(("PySide6", "app.")) for name in sys.modules)
"""


def run_without_qt(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCK + code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_every_engine_module_imports() -> None:
    run_without_qt(IMPORT_ALL)


def test_the_block_blocks() -> None:
    run_without_qt(
        "try:\n    import PySide6\nexcept ModuleNotFoundError:\n    pass\nelse:\n    raise SystemExit(1)"
    )
