"""Each bench once, short, as a user runs it: `pytest -m bench`. No figure is judged here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]
ROOT = Path(__file__).resolve().parents[2]


def bench(*words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "app", "bench", *words, "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["version"] == 1
    assert found["bench"] == words[0]
    assert {check["figure"] for check in found["checks"]} <= set(found["figures"])
    return found


def test_quality(shared: Path) -> None:
    found = bench("quality", "--quick", "--frames", "12", "--data", str(shared / "data"))
    assert found["figures"]["frames"] == 36
    assert found["figures"]["nearer"] > 0.5


def test_pipeline() -> None:
    found = bench("pipeline", "--frames", "12")
    assert found["figures"]["swapped"] == 1
    assert [table["rows"][0][0] for table in found["tables"][:3]] == ["track", "854×480", 125]


def test_latency() -> None:
    found = bench("latency", "--seconds", "4", "--fps", "15")
    assert found["figures"]["fps15_disorder"] == 0


def test_soak() -> None:
    found = bench("soak", "--minutes", "0.5")
    assert found["figures"]["threads_left"] == 0
    assert found["figures"]["frames"] > 100


def test_flood() -> None:
    found = bench("flood", "--seconds", "3", "--rounds", "1", "--fps", "15")
    assert found["figures"]["requests_per_s"] > 400
    assert found["figures"]["refused"] > 0.5


def test_watermark(shared: Path) -> None:
    found = bench("watermark", "--quick", "--data", str(shared / "data"))
    assert found["figures"]["wrong_payloads"] == 0
    assert found["figures"]["false_alarms"] == 0
    assert found["figures"]["read_60"] == 1
    assert [row[0] for row in found["tables"][0]["rows"]] == ["720p", "1080p", "4K"]


def test_neural(standins: Path) -> None:
    """The tiny stand-in on the CPU."""
    found = bench(
        "neural", "--file", str(standins / "inswapper_128.onnx"), "--frames", "30", "--seconds", "3"
    )
    assert found["figures"]["swapped"] == 1
    assert found["figures"]["frames_on"] == "host"
    assert 0 < found["figures"]["efficiency"] < 1
    assert found["figures"]["p95_ms"] > 0


def test_load() -> None:
    found = bench("load", "--seconds", "12")
    assert found["figures"]["dearer_swaps_a_frame"] >= 2
    assert [row[0] for row in found["tables"][0]["rows"]] == ["dearer", "hogs"]
