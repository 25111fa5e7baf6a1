"""What each source photo is worth: size, pose, sharpness, light."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.gui.facts import Fact, Facts
from app.gui.source_panel import Source, thumbnail
from app.gui.widgets import Card, label
from engine.identity.photo import PhotoQuality
from engine.identity.verdict import GOOD_EVENNESS, GOOD_PITCH, GOOD_SHARPNESS, GOOD_WIDTH, GOOD_YAW

_SIDE = 46


class PhotoPanel(Card):
    """The quality report of the photos in use."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Source photos"))
        self._rows = QVBoxLayout()
        self._rows.setSpacing(12)
        self.body.addLayout(self._rows)
        self.reports: list[Facts] = []

    def set_sources(self, sources: Sequence[Source]) -> None:
        """Report on these photos."""
        while (item := self._rows.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.reports = []
        for source in sources:
            report = Facts()
            report.show_facts(self._report(source.photo.quality))
            picture = QLabel()
            picture.setPixmap(thumbnail(source.photo, _SIDE))
            row = QWidget()
            columns = QHBoxLayout(row)
            columns.setContentsMargins(0, 0, 0, 0)
            columns.setSpacing(12)
            columns.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
            columns.addWidget(report, 1)
            self._rows.addWidget(row)
            self.reports.append(report)
        if not sources:
            self._rows.addWidget(label(self.tr("There are none yet."), "muted"))

    def _report(self, quality: PhotoQuality) -> Iterator[Fact]:
        def judged(good: bool) -> str:
            return "good" if good else "warn"

        yield self.tr("Face"), self.tr("%.0f pixels wide") % quality.size, judged(quality.size >= GOOD_WIDTH)
        frontal = abs(quality.yaw) <= GOOD_YAW and abs(quality.pitch) <= GOOD_PITCH
        turned = self.tr("turned %.0f° aside, %.0f° up or down") % (abs(quality.yaw), abs(quality.pitch))
        yield self.tr("Pose"), turned, judged(frontal)
        sharp = self.tr("%.0f %%") % (100 * quality.sharpness)
        yield self.tr("Sharpness"), sharp, judged(quality.sharpness >= GOOD_SHARPNESS)
        even = self.tr("%.0f %% even") % (100 * quality.evenness)
        yield self.tr("Light"), even, judged(quality.evenness >= GOOD_EVENNESS)
