"""The row of buttons under the picture: Start or Stop, cover, compare."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from app.gui import theme
from app.gui.widgets import restyle


class Controls(QWidget):
    """Emits what was asked for; `set_running` and `set_panic` show what is."""

    start_wanted = Signal()
    stop_wanted = Signal()
    panic_switched = Signal(bool)
    compare_switched = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._running = False
        self.start = QPushButton()
        self.start.setMinimumWidth(150)
        self.start.clicked.connect(self._start_or_stop)
        self.panic = QPushButton(self.tr("Cover (F12)"))
        self.panic.setProperty("kind", "danger")
        self.panic.setCheckable(True)
        self.panic.setToolTip(
            self.tr("Cover the whole picture at once, everywhere. Key: F12, or Esc twice. Again: uncover.")
        )
        self.panic.toggled.connect(self.panic_switched)
        self.panic.toggled.connect(self._tell_panic)
        self.compare = QPushButton(self.tr("Com&pare"))
        self.compare.setProperty("kind", "ghost")
        theme.set_button_icon(self.compare, "compare", "muted")
        self.compare.setCheckable(True)
        self.compare.setToolTip(self.tr("Before and after. Shows your real face, in this window only."))
        self.compare.toggled.connect(self.compare_switched)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(self.start)
        row.addWidget(self.panic)
        row.addStretch(1)
        row.addWidget(self.compare)
        self.set_running(False)

    def set_running(self, running: bool, *, busy: bool = False) -> None:
        """Show Start or Stop; `busy` while one turns into the other."""
        self._running = running
        self.start.setText(self.tr("S&top") if running else self.tr("&Start"))
        theme.set_button_icon(self.start, *(("stop", "text") if running else ("play", "on_accent")))
        restyle(self.start, "kind", "plain" if running else "primary")
        self.start.setEnabled(not busy)
        self.panic.setEnabled(running)
        self.compare.setEnabled(running)
        if not running:
            self.compare.setChecked(False)
            self.set_panic(False)

    def set_panic(self, on: bool) -> None:
        """Show whether the picture is covered, without asking for it."""
        with QSignalBlocker(self.panic):
            self.panic.setChecked(on)
        self._tell_panic(on)

    def _tell_panic(self, on: bool) -> None:
        self.panic.setText(self.tr("Uncover (F12)") if on else self.tr("Cover (F12)"))
        theme.set_button_icon(self.panic, "panic", "background" if on else "danger")

    def _start_or_stop(self) -> None:
        (self.stop_wanted if self._running else self.start_wanted).emit()
