from __future__ import annotations

import json

from app.bench.report import Check, Report, show


def sample() -> Report:
    report = Report("quality", figures={"gap": 0.61, "jitter": float("nan"), "lost": 0, "extra": "x"})
    report.table("by clip", ("clip", "gap"), [("one", 0.5), ("two", None)])
    report.check("gap", ">=", 0.6)
    report.check("lost", "<=", 0)
    return report.finish()


def test_json_is_strict_and_complete() -> None:
    data = json.loads(json.dumps(sample().json(), allow_nan=False))
    assert set(data) == {
        "version", "bench", "passed", "seconds", "host", "figures", "checks", "tables", "notes",
    }  # fmt: skip
    assert data["passed"] is True
    assert data["figures"]["jitter"] is None
    assert data["tables"][0]["rows"] == [["one", 0.5], ["two", None]]


def test_what_was_not_measured_does_not_pass() -> None:
    assert not Check("jitter", None, "<=", 1).passed
    assert not Check("jitter", float("nan"), "<=", 1).passed
    report = sample()
    report.check("never measured", "<=", 1)
    assert not report.passed
    assert "MISSED" in report.text()


def test_thresholds_include_their_limit() -> None:
    assert Check("gap", 0.6, ">=", 0.6).passed
    assert Check("lost", 0, "<=", 0).passed
    assert not Check("gap", 0.5999, ">=", 0.6).passed


def test_tables_line_up() -> None:
    lines = sample().tables[0].lines()
    assert len({len(line) for line in lines[1:-1]}) == 1
    assert show(None) == show(float("inf")) == "–"
