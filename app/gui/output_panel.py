"""Where the picture goes: virtual camera and recording."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QPushButton, QWidget

from app.gui import theme
from app.gui.widgets import Card, label
from app.options import OutputConfig


class OutputPanel(Card):
    """Emits `virtual_camera_switched` and `record_switched`; both may be refused by setting them back."""

    virtual_camera_switched = Signal(bool)
    record_switched = Signal(bool)

    def __init__(self, config: OutputConfig, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Outputs"))
        self.virtual_camera = QCheckBox(self.tr("&Virtual camera"))
        self.virtual_camera.setChecked(config.virtual_camera)
        self.virtual_camera.setToolTip(self.tr("Other programs can choose Kawari's picture as their camera"))
        self.detail = label(self.tr("For OBS, Zoom, browsers"), "muted", wrap=True)
        self.record = QPushButton(self.tr("&Record"))
        self.record.setProperty("kind", "record")
        theme.set_button_icon(self.record, "record", "danger")
        self.record.setCheckable(True)
        self.record.setEnabled(False)
        row = QHBoxLayout()
        row.addWidget(self.virtual_camera, 1)
        row.addWidget(self.record)
        self.body.addLayout(row)
        self.body.addWidget(self.detail)
        self.virtual_camera.toggled.connect(self.virtual_camera_switched)
        self.record.toggled.connect(self.record_switched)

    def config(self, before: OutputConfig) -> OutputConfig:
        """What is chosen; the rest as before."""
        return replace(before, virtual_camera=self.virtual_camera.isChecked())

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

    def set_virtual_camera(self, on: bool) -> None:
        """Show whether the virtual camera is on, without switching it."""
        with QSignalBlocker(self.virtual_camera):
            self.virtual_camera.setChecked(on)

    def set_detail(self, text: str) -> None:
        """One line about the outputs."""
        self.detail.setText(text)
