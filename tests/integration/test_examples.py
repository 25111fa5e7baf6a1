"""The examples of docs/sdk.md run as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
SAYS = {
    "swap_picture.py": r"1 face\(s\) swapped into",
    "live_session.py": r"panic: covered",
    "own_parts.py": r"10 pictures, brightness \d+ to \d+\s+finished: FinishReason.ENDED",
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example(path, tmp_path):
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        env={"PATH": "", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(SAYS[path.name], done.stdout), done.stdout


def test_the_guide_shows_every_example():
    guide = (ROOT / "docs" / "sdk.md").read_text(encoding="utf-8")
    for path in EXAMPLES:
        assert f"examples/{path.name}" in guide
