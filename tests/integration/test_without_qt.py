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
SESSION = """
import skimage.data, tempfile, time
from pathlib import Path
from PIL import Image
from engine import Session, SessionConfig
from engine.identity.import_photo import read_photo
from engine.sinks.null import NullSink
from engine.sources.demo import DemoSource
from engine.swap import make_swapper

with tempfile.TemporaryDirectory() as folder:
    photo = Path(folder) / "photo.png"
    Image.fromarray(skimage.data.astronaut()[:, ::-1]).save(photo)
    swapper = make_swapper("mesh")
    identity = swapper.prepare([read_photo(photo)])
sink = NullSink()
source = DemoSource((320, 240), 30, realtime=False, frames=20)
with Session(SessionConfig(), source, [sink], identity=identity, swapper=swapper) as session:
    assert session.wait(60) is not None, "it did not end"
shown = sink.statistics.shown
assert shown.get("swapped", 0) >= 15, shown
assert "PySide6" not in sys.modules
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


def test_a_session_swaps() -> None:
    run_without_qt(SESSION)


def test_the_block_blocks() -> None:
    run_without_qt(
        "try:\n    import PySide6\nexcept ModuleNotFoundError:\n    pass\nelse:\n    raise SystemExit(1)"
    )
