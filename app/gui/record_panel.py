"""Recording what leaves to a file."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from app.gui import theme
from app.gui.widgets import Card, label


class RecordPanel(Card):
    """Emits `record_switched`, which may be refused by setting it back, `pause_switched`, and
    `snapshot_wanted`."""

    record_switched = Signal(bool)
    pause_switched = Signal(bool)
    snapshot_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Recording"))
        self.record = QPushButton(self.tr("&Record"))
        self.record.setProperty("kind", "record")
        theme.set_button_icon(self.record, "record", "danger")
        self.record.setCheckable(True)
        self.record.setEnabled(False)
        self.pause = QPushButton(self.tr("Pa&use"))
        self.pause.setCheckable(True)
        self.pause.setToolTip(self.tr("Leave out what comes from now on, picture and sound"))
        self.snapshot = QPushButton(self.tr("S&napshot"))
        self.snapshot.setToolTip(self.tr("Save the picture that leaves now, marked and signed"))
        row = QHBoxLayout()
        row.addWidget(self.pause, 1)
        row.addWidget(self.snapshot, 1)
        self.body.addWidget(self.record)
        self.body.addLayout(row)
        self.body.addWidget(label(self.tr("Files in your videos folder."), "muted", wrap=True))
        self.record.toggled.connect(self.record_switched)
        self.pause.toggled.connect(self.pause_switched)
        self.snapshot.clicked.connect(self.snapshot_wanted)
        self.set_running(False)

    def set_running(self, running: bool) -> None:
        """Only a running engine can be recorded."""
        self.record.setEnabled(running)
        self.snapshot.setEnabled(running)
        if not running:
            self.set_recording(False)

    def set_paused(self, on: bool) -> None:
        """Show whether the recording is paused, without asking for it."""
        with QSignalBlocker(self.pause):
            self.pause.setChecked(on)

    def set_recording(self, on: bool) -> None:
        """Show whether a recording is being made, without asking for one."""
        with QSignalBlocker(self.record):
            self.record.setChecked(on)
        self.record.setText(self.tr("Stop &recording") if on else self.tr("&Record"))
        self.pause.setEnabled(on)
        if not on:
            self.set_paused(False)
