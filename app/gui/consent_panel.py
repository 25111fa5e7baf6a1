"""How many faces are on record, and the way to the records."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from app.gui.widgets import Card, label, restyle


class ConsentPanel(Card):
    """Emits `wanted` to see the records."""

    wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Consents"))
        self.count = label("", "muted", wrap=True)
        self.show_records = QPushButton(self.tr("Show &records…"))
        self.show_records.setToolTip(self.tr("See, export or take back who allowed which face to be used"))
        self.body.addWidget(self.count)
        self.body.addWidget(self.show_records)
        self.show_records.clicked.connect(self.wanted)
        self.set_count(0, 0)

    def set_count(self, records: int, ended: int) -> None:
        """Show how many records there are, and how many of them have ended."""
        text = {0: self.tr("No photo is on record yet."), 1: self.tr("One photo is on record.")}.get(
            records, self.tr("%d photos are on record.") % records
        )
        if ended:
            text += " " + self.tr("The consent to %d of them has ended.") % ended
        self.count.setText(text)
        restyle(self.count, "role", "warn" if ended else "muted")
