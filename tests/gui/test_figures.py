"""The figures' tab shows what the session says, and nothing when none runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.gui.figures_panel import FiguresPanel
from app.gui.photo_panel import PhotoPanel
from app.gui.source_panel import Source
from engine.config import DelayConfig
from engine.identity.demo import demo_photo
from engine.live.delivery import SinkStats
from engine.live.stats import Stats
from engine.metrics import Percentiles

pytestmark = pytest.mark.gui

TIMES = Percentiles(100, 10.0, 20.0, 30.0, 40.0, 12.0)
STATS = Stats(
    state="running", seconds=3723.0, frames_in=200, frames_out=180, fps=29.7,
    delay=Percentiles(180, 41.0, 120.0, 150.0, 190.0, 50.0),
    stages={"track": TIMES, "something new": TIMES},
    drops={"newer": 20, "late": 0}, faces=2, swapped=1, quality="good", quality_step=2, quality_moves=3,
    sinks=(
        SinkStats("preview", 180, 4, 0, TIMES, TIMES, 29.0, ""),
        SinkStats("recorder", 9, 0, 1, TIMES, TIMES, 0.0, "The disk is full"),
    ),
)  # fmt: skip


def test_figures_are_shown_in_words(qtbot: QtBot) -> None:
    panel = FiguresPanel(DelayConfig(budget_ms=100.0))
    qtbot.addWidget(panel)
    panel.show_stats(STATS)
    stream = panel.stream.facts()
    assert stream["Rate"] == "29.7 pictures a second"
    assert stream["Delay"] == "120 ms for 95 % of pictures"
    assert stream[""] == "half within 41, 99 % within 150, at most 190 ms"
    assert stream["Quality"] == "“good”, step 2, changed 3 times"
    assert stream["Faces"] == "2 in the picture, 1 swapped"
    assert stream["Since start"] == "1:02:03, 180 pictures"
    assert panel.stages.facts() == {
        "Find faces": "10.0 ms, 95 % within 20.0", "something new": "10.0 ms, 95 % within 20.0",
    }  # fmt: skip
    assert panel.dropped.facts() == {"A newer one came": "20 (10.0 %)"}
    assert panel.outputs.facts() == {
        "This window": "29 fps, 20 ms (p95), 4 dropped", "Recording": "The disk is full",
    }  # fmt: skip


def test_nothing_is_left_when_it_stops(qtbot: QtBot) -> None:
    panel = FiguresPanel(DelayConfig())
    qtbot.addWidget(panel)
    panel.show_stats(STATS)
    panel.show_stats(None)
    assert panel.stream.facts() == {}
    assert all(facts.parentWidget().isHidden() for facts in (panel.stages, panel.dropped, panel.outputs))


def test_each_photo_is_reported_on(qtbot: QtBot) -> None:
    panel = PhotoPanel()
    qtbot.addWidget(panel)
    photo = demo_photo()
    panel.set_sources([Source(None, 1, photo), Source(Path("b.jpg"), 1, photo)])
    assert len(panel.reports) == 2
    facts = panel.reports[0].facts()
    assert facts["Face"] == f"{photo.quality.size:.0f} pixels wide"
    assert list(facts) == ["Face", "Pose", "Sharpness", "Light"]
    panel.set_sources([])
    assert panel.reports == []
