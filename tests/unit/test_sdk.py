"""What `engine` offers is there, and importing it is cheap."""

from __future__ import annotations

import subprocess
import sys

import pytest

import engine
from tests.conftest import ROOT


@pytest.mark.parametrize("name", engine.__all__)
def test_every_promised_name_is_there(name: str) -> None:
    assert getattr(engine, name) is not None and name in dir(engine)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="Nothing"):
        engine.Nothing  # noqa: B018


def test_importing_the_engine_loads_no_heavy_library() -> None:
    code = "import engine, sys; sys.exit(bool({'cv2', 'onnxruntime', 'av', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
