"""The picture as a camera for other programs: which device, at which size and rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QWidget

from app.gui.camera_panel import RATES, SIZES
from app.gui.widgets import Card, label, labelled, let_shrink, restyle
from app.options import OutputConfig
from engine.devices import VirtualCameraDevice


class VirtualCameraPanel(Card):
    """Emits `switched`, which may be refused by setting it back, and `changed` for another device or size."""

    switched = Signal(bool)
    changed = Signal()

    def __init__(self, config: OutputConfig, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Virtual camera"))
        self.on = QCheckBox(self.tr("&Offer the picture as a camera"))
        self.on.setChecked(config.virtual_camera)
        self.on.setToolTip(self.tr("Other programs can choose Kawari's picture as their camera"))
        self.device, self.size_box, self.rate = QComboBox(), QComboBox(), QComboBox()
        self._wanted = config.virtual_camera_name
        self.size_box.addItem(self.tr("As camera"), "")
        for size in dict.fromkeys((*SIZES, config.virtual_camera_size)):
            if size:
                self.size_box.addItem(size, size)
        self.size_box.setCurrentIndex(self.size_box.findData(config.virtual_camera_size))
        self.rate.addItem(self.tr("same"), 0.0)
        for rate in sorted({*RATES, config.virtual_camera_fps} - {0.0}):
            self.rate.addItem(self.tr("%g fps") % rate, rate)
        self.rate.setCurrentIndex(self.rate.findData(config.virtual_camera_fps))
        self.rate.setAccessibleName(self.tr("Frames per second of the virtual camera"))
        self._hint = label("", "muted", wrap=True)
        self._none = ""
        self.body.addWidget(self.on)
        self.body.addLayout(labelled(self.tr("&Device"), self.device))
        row = labelled(self.tr("Si&ze, rate"), self.size_box)
        let_shrink(self.rate)
        row.addWidget(self.rate)
        row.setStretch(1, 3)
        row.setStretch(2, 2)
        self.body.addLayout(row)
        self.body.addWidget(self._hint)
        self.on.toggled.connect(self.switched)
        self.on.toggled.connect(self._describe)
        for box in (self.device, self.size_box, self.rate):
            box.activated.connect(self._changed)
        self.set_devices([], "")

    def config(self, before: OutputConfig) -> OutputConfig:
        """What is chosen; the rest as before."""
        return replace(
            before,
            virtual_camera=self.on.isChecked(),
            virtual_camera_name=self.device.currentData(),
            virtual_camera_size=self.size_box.currentData(),
            virtual_camera_fps=self.rate.currentData(),
        )

    def set_devices(self, devices: Sequence[VirtualCameraDevice], remedy: str) -> None:
        """Offer these devices, and the first that is free; `remedy` says how to get one if there is none."""
        with QSignalBlocker(self.device):
            self.device.clear()
            self.device.addItem(self.tr("The first that is free"), "")
            for device in devices:
                text = device.name if device.usable else self.tr("%s (in use)") % device.name
                self.device.addItem(text, device.path or device.name)
            if self._wanted and self.device.findData(self._wanted) < 0:
                self.device.addItem(self._wanted, self._wanted)  # unplugged; switching it on will say so
            self.device.setCurrentIndex(self.device.findData(self._wanted))
        self._none = "" if devices else remedy
        self._describe()

    def set_on(self, on: bool) -> None:
        """Show whether it is on, without switching it."""
        with QSignalBlocker(self.on):
            self.on.setChecked(on)
        self._describe()

    def _changed(self) -> None:
        self._wanted = self.device.currentData()
        self.changed.emit()

    def _describe(self) -> None:
        if self._none and self.on.isChecked():
            self._hint.setText(self.tr("None is installed. %s") % self._none)
        elif self._none:
            self._hint.setText(self.tr("For OBS, Zoom, browsers. None is installed yet."))
        elif self.on.isChecked():
            self._hint.setText(self.tr("While the stream runs: choose it in OBS, Zoom or a browser."))
        else:
            self._hint.setText(self.tr("For OBS, Zoom, browsers."))
        restyle(self._hint, "role", "warn" if self._none and self.on.isChecked() else "muted")
