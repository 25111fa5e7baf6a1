"""The Python examples of docs/sdk.md run as they are printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "sdk.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples() -> list[str]:
    """The page's code blocks that import something, thus stand for themselves."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    return [block for block in BLOCK.findall(text) if re.search(r"^(from|import) ", block, re.MULTILINE)]


@pytest.mark.parametrize("code", examples(), ids=lambda code: code.splitlines()[0].lstrip("# ")[:40])
def test_example(code: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KAWARI_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, f"{code}\n{done.stderr[-3000:]}"
