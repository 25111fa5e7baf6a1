"""How the stream does, in figures: rate, delay, each stage's share, what was dropped, each output."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.gui.facts import Fact, Facts
from app.gui.widgets import Card, label
from engine.config import DelayConfig
from engine.live.stats import Stats
from engine.metrics import Percentiles


class FiguresPanel(QWidget):
    """Four cards; `show_stats` is the whole interface.

    Args:
        delay: the budget that the delay is compared with.
    """

    def __init__(self, delay: DelayConfig, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._delay = delay
        self._idle = label(self.tr("Figures appear while the stream runs."), "muted", wrap=True)
        self.stream, self.stages, self.dropped, self.outputs = Facts(), Facts(), Facts(), Facts()
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(10)
        self._cards = [
            self._card(self.tr("Stream"), self.stream),
            self._card(self.tr("Time of each stage"), self.stages),
            self._card(self.tr("Frames that did not leave"), self.dropped),
            self._card(self.tr("Outputs"), self.outputs),
        ]
        self._cards[0].body.insertWidget(1, self._idle)
        for card in self._cards:
            rows.addWidget(card)
        self.show_stats(None)

    def show_stats(self, stats: Stats | None) -> None:
        """Show figures; None while nothing runs."""
        self._idle.setVisible(stats is None)
        for card in self._cards[1:]:
            card.setVisible(stats is not None)
        self.stream.show_facts([] if stats is None else self._stream(stats))
        if stats is not None:
            self.stages.show_facts(self._stages(stats))
            self.dropped.show_facts(self._dropped(stats))
            self.outputs.show_facts(self._outputs(stats))

    @staticmethod
    def _card(title: str, facts: Facts) -> Card:
        card = Card()
        card.set_title(title)
        card.body.addWidget(facts)
        return card

    def _stream(self, stats: Stats) -> Iterator[Fact]:
        delay, budget = stats.delay, self._delay.budget_ms
        yield self.tr("Rate"), self.tr("%.1f pictures a second") % stats.fps
        late = delay.count > 0 and delay.p95 > budget
        text = self.tr("%.0f ms for 95 %% of pictures") % delay.p95
        yield self.tr("Delay"), text, "warn" if late else "good"
        yield "", self.tr("half within %.0f, 99 %% within %.0f, at most %.0f ms") % (
            delay.p50, delay.p99, delay.max,
        )  # fmt: skip
        yield self.tr("Voice"), self.tr("matches %.0f ms later") % stats.sound_delay_ms
        yield self.tr("Budget"), self.tr("%.0f ms") % budget
        quality = self.tr("“%s”, step %d, changed %d times") % (
            stats.quality, stats.quality_step, stats.quality_moves,
        )  # fmt: skip
        yield self.tr("Quality"), quality
        yield self.tr("Faces"), self.tr("%d in the picture, %d swapped") % (stats.faces, stats.swapped)
        yield self.tr("Since start"), self.tr("%s, %d pictures") % (_clock(stats.seconds), stats.frames_out)

    def _stages(self, stats: Stats) -> Iterator[Fact]:
        names = {
            "track": self.tr("Find faces"),
            "choose": self.tr("Choose"),
            "swap": self.tr("Swap"),
            "blend": self.tr("Blend"),
            "guard": self.tr("Leak guard"),
            "mark": self.tr("Mark"),
            "cover": self.tr("Cover"),
        }
        for name, took in stats.stages.items():
            yield names.get(name, name), self._times(took)

    def _dropped(self, stats: Stats) -> Iterator[Fact]:
        reasons = {
            "newer": self.tr("A newer one came"),
            "late": self.tr("Too old"),
            "cadence": self.tr("Rate lowered"),
            "stale": self.tr("Camera changed"),
            "corrupt": self.tr("Damaged"),
            "order": self.tr("Out of order"),
        }
        came = max(stats.frames_in, 1)
        dropped = {name: count for name, count in stats.drops.items() if count}
        if not dropped:
            yield self.tr("None"), self.tr("of %d") % stats.frames_in
        for name, count in dropped.items():
            yield reasons.get(name, name), self.tr("%d (%.1f %%)") % (count, 100 * count / came)

    def _outputs(self, stats: Stats) -> Iterator[Fact]:
        names = {
            "preview": self.tr("This window"),
            "virtual camera": self.tr("Virtual camera"),
            "recorder": self.tr("Recording"),
            "browser": self.tr("Browser page"),
            "vmc": self.tr("VMC"),
            "monitor": self.tr("Delayed voice"),
            "content check": self.tr("Content check"),
        }
        for sink in stats.sinks:
            name = names.get(sink.name, sink.name)
            if sink.failed:
                yield name, sink.failed, "warn"
                continue
            text = self.tr("%.0f fps, %.0f ms (p95)") % (sink.fps, sink.delay.p95)
            if sink.dropped:
                text += self.tr(", %d dropped") % sink.dropped
            yield name, text

    def _times(self, took: Percentiles) -> str:
        return self.tr("%.1f ms, 95 %% within %.1f") % (took.p50, took.p95)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
