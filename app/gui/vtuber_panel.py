"""For VTuber programs: pose and expression out (VMC), commands in (OSC), tracking only."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QSpinBox, QWidget

from app.gui.widgets import Card, help_of, label
from app.options import OutputConfig

_PORT_WIDTH = 84


class VtuberPanel(Card):
    """Emits `vmc_switched` and `osc_switched`, which may be refused by setting them back, `vmc_changed` for
    another address, and `tracking_only_switched`."""

    vmc_switched = Signal(bool)
    vmc_changed = Signal()
    osc_switched = Signal(bool)
    tracking_only_switched = Signal(bool)

    def __init__(self, config: OutputConfig, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("VTuber programs"))
        self.vmc = _switch(self.tr("Send pose and e&xpression (VMC)"), "vmc", config.vmc)
        self.vmc_host = QLineEdit(config.vmc_host)
        self.vmc_host.setAccessibleName(self.tr("Computer to send to"))
        self.vmc_host.setToolTip(help_of(OutputConfig, "vmc_host"))
        self.vmc_port = _port(config.vmc_port, self.tr("Port to send to"))
        self.osc = _switch(self.tr("Take &commands (OSC), port"), "osc", config.osc)
        self.osc_port = _port(config.osc_port, self.tr("Port to listen on"))
        self.tracking_only = _switch(
            self.tr("Trac&king only: show nobody"), "tracking_only", config.tracking_only
        )
        address = QHBoxLayout()
        address.setContentsMargins(25, 0, 0, 0)
        address.addWidget(self.vmc_host, 1)
        address.addWidget(self.vmc_port)
        osc = QHBoxLayout()
        osc.addWidget(self.osc, 1)
        osc.addWidget(self.osc_port)
        self._hint = label("", "muted", wrap=True)
        self.body.addWidget(self.vmc)
        self.body.addLayout(address)
        self.body.addLayout(osc)
        self.body.addWidget(self.tracking_only)
        self.body.addWidget(self._hint)
        self.vmc.toggled.connect(self.vmc_switched)
        self.vmc_host.editingFinished.connect(self._address_edited)
        self.vmc_port.editingFinished.connect(self._address_edited)
        self.osc.toggled.connect(self.osc_switched)
        self.osc.toggled.connect(self.osc_port.setDisabled)
        self.osc_port.setDisabled(config.osc)
        self.tracking_only.toggled.connect(self.tracking_only_switched)
        self.tracking_only.toggled.connect(self._describe)
        self._sent_to = self._address()
        self._describe()

    def config(self, before: OutputConfig) -> OutputConfig:
        """What is chosen; the rest as before."""
        host, port = self._address()
        return replace(
            before,
            vmc=self.vmc.isChecked(),
            vmc_host=host,
            vmc_port=port,
            osc=self.osc.isChecked(),
            osc_port=self.osc_port.value(),
            tracking_only=self.tracking_only.isChecked(),
        )

    def set_vmc(self, on: bool) -> None:
        """Show whether it is sent, without switching it."""
        with QSignalBlocker(self.vmc):
            self.vmc.setChecked(on)

    def set_osc(self, on: bool) -> None:
        """Show whether commands are taken, without switching it."""
        with QSignalBlocker(self.osc):
            self.osc.setChecked(on)
        self.osc_port.setDisabled(on)

    def _address(self) -> tuple[str, int]:
        return self.vmc_host.text().strip() or OutputConfig.vmc_host, self.vmc_port.value()

    def _address_edited(self) -> None:
        if self._address() != self._sent_to:
            self._sent_to = self._address()
            self.vmc_changed.emit()

    def _describe(self) -> None:
        self._hint.setText(
            self.tr("Nothing is swapped. The picture is a card, or blurred as set under Safety.")
            if self.tracking_only.isChecked()
            else self.tr("VMC: VSeeFace, Warudo, VNyan. OSC: panic and strength, from this computer.")
        )


def _switch(text: str, setting: str, on: bool) -> QCheckBox:
    made = QCheckBox(text)
    made.setChecked(on)
    made.setToolTip(help_of(OutputConfig, setting))
    return made


def _port(value: int, name: str) -> QSpinBox:
    made = QSpinBox()
    made.setRange(1, 65535)
    made.setButtonSymbols(QSpinBox.ButtonSymbols.NoButtons)
    made.setValue(value)
    made.setFixedWidth(_PORT_WIDTH)
    made.lineEdit().setTextMargins(8, 0, 0, 0)
    made.setAccessibleName(name)
    return made
