"""Recording what leaves to a file."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from app.gui import theme
from app.gui.widgets import Card, label


class RecordPanel(Card):
    """Emits `record_switched`, which may be refused by setting it back."""

    record_switched = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Recording"))
        self.record = QPushButton(self.tr("&Record"))
        self.record.setProperty("kind", "record")
        theme.set_button_icon(self.record, "record", "danger")
        self.record.setCheckable(True)
        self.record.setEnabled(False)
        self.body.addWidget(self.record)
        self.body.addWidget(label(self.tr("A video file in your videos folder."), "muted", wrap=True))
        self.record.toggled.connect(self.record_switched)

    def set_running(self, running: bool) -> None:
        """Only a running engine can be recorded."""
        self.record.setEnabled(running)
        if not running:
            self.set_recording(False)

    def set_recording(self, on: bool) -> None:
        """Show whether a recording is being made, without asking for one."""
        with QSignalBlocker(self.record):
            self.record.setChecked(on)
        self.record.setText(self.tr("Stop &recording") if on else self.tr("&Record"))
