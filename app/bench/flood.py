"""`kawari bench flood`: the delay of the stream while the control server is flooded, against quiet.

Quiet and flooded spells alternate in one run, so that a machine that gets busier meanwhile meets both.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path

import numpy as np

from app.bench.report import Report, Value
from engine.errors import KawariError

RATE = 500
"""Requests a second, each over a connection of its own: the dearest kind."""
_ANSWER_S = 0.8
"""After so long a request is given up, answered or not."""
_AFTER_S = 1.0
"""The beginning of each spell does not count: what the last one left behind still goes on."""


def run(seconds: float, rounds: int, fps: float, progress: Callable[[str], None]) -> Report:
    """Alternate quiet and flood, `seconds` each, and compare."""
    child = subprocess.Popen(
        [sys.executable, "-m", "app.bench.served", str(fps)],
        cwd=Path(__file__).resolve().parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None and child.stdout is not None
    with child:
        line = child.stdout.readline()
        if not line:
            raise KawariError("The bench's streaming process ended early", "See its message above")
        found = json.loads(line)
        quiet, flooded, answers = [], [], Counter[str]()
        time.sleep(seconds / 2)
        for number in range(rounds):
            progress(f"round {number + 1} of {rounds}")
            quiet.append(spell(lambda: time.sleep(seconds)))
            flooded.append(spell(lambda: flood(found["port"], found["token"], seconds, answers)))
        child.stdin.close()
        arrivals = json.loads(child.stdout.readline())
    captured, arrived = np.asarray(arrivals["captured"]), np.asarray(arrivals["arrived"])

    def delays(spells: list[tuple[int, int]]) -> list[np.ndarray]:
        return [(arrived - captured)[(arrived >= start) & (arrived < end)] / 1e6 for start, end in spells]

    return _report(delays(quiet), delays(flooded), answers, rounds * seconds)


def spell(work: Callable[[], None]) -> tuple[int, int]:
    """Do it; when it counts, ns of the monotonic clock."""
    start = time.monotonic_ns()
    work()
    return start + round(_AFTER_S * 1e9), time.monotonic_ns()


def flood(port: int, token: str, seconds: float, answers: Counter[str]) -> None:
    """Send requests at an even pace, whatever becomes of them; counts what they got."""
    request = f"GET /api/state?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    waiting: deque[tuple[float, socket.socket]] = deque()
    start = time.monotonic()
    for number in range(round(seconds * RATE)):
        time.sleep(max(start + number / RATE - time.monotonic(), 0))
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(("127.0.0.1", port))  # goes on by itself
        with contextlib.suppress(OSError):  # not connected: it waits at the door
            one.send(request)
        waiting.append((time.monotonic() + _ANSWER_S, one))
        while waiting[0][0] < time.monotonic():
            answers[_answer(waiting.popleft()[1])] += 1
    for _, one in waiting:
        answers[_answer(one)] += 1


def _answer(connection: socket.socket) -> str:
    with connection:
        try:
            return connection.recv(64)[9:12].decode() or "closed"
        except OSError:
            return "none"


def _report(
    quiet: list[np.ndarray], flooded: list[np.ndarray], answers: Counter[str], seconds: float
) -> Report:
    report = Report("flood")
    rows: list[list[Value]] = []
    for number, (calm, storm) in enumerate(zip(quiet, flooded, strict=True), 1):
        for name, delays in (("quiet", calm), ("flood", storm)):
            p50, p95, p99 = np.percentile(delays, (50, 95, 99)) if len(delays) else [float("nan")] * 3
            rows.append([f"{name} {number}", float(p50), float(p95), float(p99), len(delays)])
    report.table("delay of the stream, 1280×720", ("", "p50 ms", "p95 ms", "p99 ms", "pictures"), rows)
    report.table("what the requests got", ("answer", "requests"), list(answers.items()))
    calm, storm = np.concatenate(quiet), np.concatenate(flooded)
    if len(calm) and len(storm):
        for percent in (50, 95, 99):
            before, during = (float(np.percentile(delays, percent)) for delays in (calm, storm))
            report.figures |= {f"quiet_p{percent}_ms": before, f"ratio_p{percent}": during / before}
    report.figures |= {
        "requests_per_s": answers.total() / seconds,
        "refused": 1 - answers["200"] / max(answers.total(), 1),
    }
    report.check("ratio_p95", "<=", 1.1)
    report.check("requests_per_s", ">=", 0.95 * RATE)
    report.notes += [
        "The flood is a program on the same machine and needs a processor, too: on two cores the ratio says",
        "what both cost together.",
    ]
    return report
