"""Starts the guest of ../shared/vmcam and runs one of the scripts beside this file in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

PATHS = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


def run_in_guest(
    shared: Path, *command: str, devices: str = "", out: Path | None = None, limit: int = 240
) -> dict[str, Any]:
    """The JSON object that the script printed last.

    Args:
        command: the script's name and its arguments.
        devices: options of the v4l2loopback module; the guest's own if not given.
        out: the folder that the guest may write to, as `VMCAM_OUT`.
        limit: seconds.
    """
    missing = [tool for tool in ("busybox", "modprobe", "ffmpeg") if shutil.which(tool, path=PATHS) is None]
    if missing:
        pytest.skip(f"the guest needs {', '.join(missing)}")
    script, *arguments = command
    # On one core everything is late that has to share it: where it may, the guest gets a core of its own.
    alone = ["chrt", "--rr", "1"] if shutil.which("chrt") else []
    if alone and subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        alone = []
    done = subprocess.run(
        [
            *alone, shared / "vmcam" / "vmcam.sh", "-t", str(limit), *(["-o", out] if out else []), "--",
            sys.executable, f"tests/vm/{script}", *arguments,
        ],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env=os.environ | ({"VMCAM_LOOPBACK": devices} if devices else {}),
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert done.returncode == 0 and lines, done.stdout + done.stderr
    print(lines[-1])
    return dict(json.loads(lines[-1]))
