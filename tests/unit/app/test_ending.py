"""The program ends neither under a thread of the engine nor because of one."""

from __future__ import annotations

import subprocess
import sys
import time

PROGRAM = """
import sys, threading, time
from app.ending import end

def work():
    time.sleep(float(sys.argv[1]))
    print("done", flush=True)

threading.Thread(target=work, name="kawari-engine", daemon=True).start()
print("said", end="")
sys.exit(end(3, 2.0))
"""


def run(seconds: float) -> tuple[int, str, float]:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(seconds)], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, time.monotonic() - began


def test_it_waits_for_what_is_being_finished() -> None:
    code, said, _ = run(0.3)
    assert (code, said) == (3, "saiddone\n")


def test_it_leaves_what_hangs_and_loses_no_word() -> None:
    code, said, took = run(1000)
    assert (code, said) == (3, "said")
    assert took < 30
