"""The visible mark that says a picture is synthetic: on by default, where, and how it looks."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QMessageBox, QWidget

from app.gui.widgets import Card, help_of, label, labelled
from engine.config import BadgeConfig, BadgeStyle, Corner


class BadgePanel(Card):
    """Emits `changed` at once; switching the mark off asks once."""

    changed = Signal(object)
    """The new `BadgeConfig`."""

    def __init__(self, config: BadgeConfig, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Telling viewers"))
        self.badge = QCheckBox(self.tr("Visible “AI” &mark"))
        self.badge.setChecked(config.shown)
        self.badge.setToolTip(self.tr("Viewers have a right to know that the picture is synthetic"))
        self.place, self.style_box = QComboBox(), QComboBox()
        self.place.setToolTip(help_of(BadgeConfig, "place"))
        self.style_box.setToolTip(help_of(BadgeConfig, "style"))
        for corner, text in (
            (Corner.TOP_LEFT, self.tr("Top left")),
            (Corner.TOP_RIGHT, self.tr("Top right")),
            (Corner.BOTTOM_LEFT, self.tr("Bottom left")),
            (Corner.BOTTOM_RIGHT, self.tr("Bottom right")),
        ):
            self.place.addItem(text, corner)
        for style, text in (
            (BadgeStyle.DARK, self.tr("“AI” on dark")),
            (BadgeStyle.LIGHT, self.tr("“AI” on white")),
            (BadgeStyle.WORDS, self.tr("“AI-generated”")),
        ):
            self.style_box.addItem(text, style)
        self.place.setCurrentIndex(self.place.findData(config.place))
        self.style_box.setCurrentIndex(self.style_box.findData(config.style))
        self.body.addWidget(self.badge)
        self.body.addLayout(labelled(self.tr("P&lace"), self.place))
        self.body.addLayout(labelled(self.tr("St&yle"), self.style_box))
        self.body.addWidget(label(self.tr("The invisible watermark is always there."), "muted", wrap=True))
        self.badge.clicked.connect(self._switched)
        self.place.activated.connect(self._tell)
        self.style_box.activated.connect(self._tell)
        self._enable()

    def config(self) -> BadgeConfig:
        """What is chosen."""
        return BadgeConfig(self.badge.isChecked(), self.place.currentData(), self.style_box.currentData())

    def _switched(self, on: bool) -> None:
        if not on and not self._confirm():
            self.badge.setChecked(True)
            return
        self._enable()
        self._tell()

    def _confirm(self) -> bool:
        answer = QMessageBox.question(
            self,
            self.tr("Do without the visible mark?"),
            self.tr(
                "Viewers have a right to know that a picture is synthetic; in the European Union article 50 "
                "of the AI Act makes saying so a duty. Without the mark you have to tell them yourself. The "
                "invisible watermark stays."
            ),
        )
        return answer == QMessageBox.StandardButton.Yes

    def _enable(self) -> None:
        for box in (self.place, self.style_box):
            box.setEnabled(self.badge.isChecked())

    def _tell(self) -> None:
        self.changed.emit(self.config())
