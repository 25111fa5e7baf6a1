#!/usr/bin/env python3
"""Set up once, then run: `python3 packaging/dev.py COMMAND …` from a fresh checkout.

Makes `.venv` beside this folder if it is not there, installs the hash-locked requirements if they
changed, puts Kawari itself in as an editable install, and runs COMMAND with it. Needs nothing but
Python ≥ 3.11 with venv; people who have uv may use `uv run COMMAND` instead.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENV = Path(os.environ.get("KAWARI_VENV", ROOT / ".venv"))
BIN = ENV / ("Scripts" if os.name == "nt" else "bin")
LOCK = ROOT / "requirements" / "dev.txt"


def set_up() -> None:
    """Create or refresh the virtual environment; does nothing if it is up to date."""
    wanted = hashlib.sha256(LOCK.read_bytes() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()
    stamp = ENV / "kawari.stamp"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print(f"setting up {ENV} (once, a minute or two)", file=sys.stderr, flush=True)
    venv.create(ENV, with_pip=True)
    pip = [str(BIN / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    subprocess.run([*pip, "--require-hashes", "--no-deps", "-r", str(LOCK)], check=True)
    # hatchling builds the editable install; it is a tool, not a part of the program
    subprocess.run([*pip, "--no-deps", "--editable", str(ROOT)], check=True)
    stamp.write_text(wanted)


def main() -> int:
    """Run the command given on the command line in the environment."""
    if sys.version_info < (3, 11):  # noqa: UP036 (an older Python must be told, not crash)
        print(f"Kawari needs Python 3.11 or newer; this is {sys.version.split()[0]}", file=sys.stderr)
        return 2
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        set_up()
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"setting up failed: {error}", file=sys.stderr)
        return 1
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
    environment["VIRTUAL_ENV"] = str(ENV)
    environment.pop("PYTHONHOME", None)
    command = sys.argv[1:]
    program = BIN / (command[0] + (".exe" if os.name == "nt" else ""))
    return subprocess.run(
        [str(program) if program.exists() else command[0], *command[1:]], env=environment, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
