"""Commands over OSC, switched on and off in the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.gui.bridge import Bridge
from app.gui.vtuber_panel import VtuberPanel

if TYPE_CHECKING:
    from app.gui.desk import WindowDesk
    from app.osc import OscControl


class OscIn(QObject):
    """Listens while its box is ticked.

    Args:
        desk: what the commands change.
    """

    failed = Signal(object)

    def __init__(self, bridge: Bridge, panel: VtuberPanel, desk: WindowDesk, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge, self._panel, self._desk = bridge, panel, desk
        self.control: OscControl | None = None
        self._ending: OscControl | None = None
        panel.osc_switched.connect(self._switch)

    def restore(self) -> None:
        """Listen if the settings say so."""
        if self._panel.osc.isChecked():
            self._switch(True)

    def close(self) -> None:
        """Listen no longer; waits for a command that is just being carried out."""
        for control in (self.control, self._ending):
            if control is not None:
                control.__exit__()
        self.control = self._ending = None

    def _switch(self, on: bool) -> None:
        if not on:
            # A command may wait for this very thread: let another one wait for the command.
            self._ending, self.control = self.control, None
            if self._ending is not None:
                self._bridge.look_up(self._ending.__exit__, lambda _: None)
            return
        try:
            from app.osc import OscControl

            self.control = OscControl(self._desk, self._panel.osc_port.value())
            self.control.__enter__()
        except Exception as error:  # noqa: BLE001 - shown in the window
            self.control = None
            self._panel.set_osc(False)
            self.failed.emit(error)
