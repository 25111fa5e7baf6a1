"""The voice: which microphone, and where it is played as late as the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QWidget

from app.gui.widgets import Card, help_of, label, labelled
from app.options import DEFAULT, OFF, SoundConfig


class SoundPanel(Card):
    """Emits `monitor_switched`, which may be refused by setting it back, and `changed` for other devices."""

    monitor_switched = Signal(bool)
    changed = Signal()

    def __init__(self, config: SoundConfig, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Voice"))
        self._before = config
        self.microphone, self.monitor = QComboBox(), QComboBox()
        self.microphone.setToolTip(self.tr("Recordings get its sound, in time with the picture"))
        self.monitor.setToolTip(help_of(SoundConfig, "monitor"))
        self._hint = label("", "muted", wrap=True)
        self._trouble, self._late_ms = "", 0.0
        self.body.addLayout(labelled(self.tr("M&icrophone"), self.microphone))
        self.body.addLayout(labelled(self.tr("P&lay late on"), self.monitor))
        self.body.addWidget(self._hint)
        self._fill(self.microphone, [], self.tr("None"), config.microphone)
        self._fill(self.monitor, [], self.tr("Nothing"), config.monitor)
        self.microphone.activated.connect(self._chosen)
        self.monitor.activated.connect(self._chosen)
        self._show()

    def config(self) -> SoundConfig:
        """What is chosen."""
        microphone, monitor = self.microphone.currentData(), self.monitor.currentData()
        return replace(self._before, microphone=microphone, monitor=OFF if microphone == OFF else monitor)

    def set_devices(self, microphones: Sequence[str], speakers: Sequence[str], trouble: str = "") -> None:
        """Offer these, by name; `trouble` says why there are none."""
        self._fill(self.microphone, microphones, self.tr("None"), self.microphone.currentData())
        self._fill(self.monitor, speakers, self.tr("Nothing"), self.monitor.currentData())
        self._trouble = trouble
        self._show()

    def set_monitor(self, on: bool) -> None:
        """Show that the monitor is off, without switching it."""
        if not on:
            self.monitor.setCurrentIndex(self.monitor.findData(OFF))
            self._before = self.config()

    def set_late(self, ms: float) -> None:
        """Show how late the pictures are now; 0 while none leave."""
        self._late_ms = ms
        self._show()

    def _chosen(self) -> None:
        before, self._before = self._before, self.config()
        self._show()
        if (before.monitor == OFF) != (self._before.monitor == OFF):
            self.monitor_switched.emit(self._before.monitor != OFF)
        elif before != self._before:
            self.changed.emit()

    def _show(self) -> None:
        self.monitor.setEnabled(self.microphone.currentData() != OFF)
        if self._trouble:
            self._hint.setText(self._trouble)
        elif self._late_ms:
            self._hint.setText(
                self.tr("Others see you %.0f ms late. Delay a voice that goes to OBS by itself as much.")
                % self._late_ms
            )
        else:
            self._hint.setText(
                self.tr("Recorded in time with the picture. It is not changed, nor muted by Cover.")
            )

    def _fill(self, box: QComboBox, names: Sequence[str], none: str, chosen: str) -> None:
        with QSignalBlocker(box):
            box.clear()
            box.addItem(none, OFF)
            box.addItem(self.tr("The system's own"), DEFAULT)
            for name in dict.fromkeys(names):
                box.addItem(name, name)
            if box.findData(chosen) < 0:
                box.addItem(chosen, chosen)  # unplugged; using it will say so
            box.setCurrentIndex(box.findData(chosen))
