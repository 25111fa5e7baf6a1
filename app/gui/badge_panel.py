"""The visible mark that says a picture is synthetic."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QMessageBox, QWidget

from app.gui.widgets import Card
from app.options import OutputConfig


class BadgePanel(Card):
    """On by default; switching it off asks once."""

    def __init__(self, config: OutputConfig, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Telling viewers"))
        self.badge = QCheckBox(self.tr("Visible “AI” &mark"))
        self.badge.setChecked(config.badge)
        self.badge.setToolTip(self.tr("Viewers have a right to know. Takes effect at the next start."))
        self.body.addWidget(self.badge)
        self.badge.clicked.connect(self._switched)

    def _switched(self, on: bool) -> None:
        if on:
            return
        answer = QMessageBox.question(
            self,
            self.tr("Do without the visible mark?"),
            self.tr(
                "Viewers have a right to know that a picture is synthetic; in the European Union article 50 "
                "of the AI Act makes saying so a duty. Without the mark you have to tell them yourself. The "
                "invisible watermark stays."
            ),
        )
        self.badge.setChecked(answer != QMessageBox.StandardButton.Yes)
