"""Ties the verify panel to the thread that examines."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal

from app.gui.bridge import Bridge
from app.gui.verification import Verification
from app.gui.verify_panel import VerifyPanel
from app.options import CameraConfig
from engine.errors import CancelledError
from engine.mark.verify import Report


class Verifying(QObject):
    """One examination at a time; a new one stops the one before."""

    failed = Signal(object)
    _progress = Signal(object, int)

    def __init__(self, panel: VerifyPanel, bridge: Bridge, parent: QObject) -> None:
        super().__init__(parent)
        self._panel, self._bridge = panel, bridge
        self._present: Verification | None = None
        panel.wanted.connect(self.examine)
        panel.cancelled.connect(self.cancel)
        self._progress.connect(self._tell, Qt.ConnectionType.QueuedConnection)

    def examine(self, subject: Path | CameraConfig) -> None:
        """Examine a file, or look through a camera."""
        self.cancel()
        name = subject.name if isinstance(subject, Path) else self._panel.cameras.currentText()
        work = Verification(subject, lambda frames: self._progress.emit(work, frames))
        self._present = work
        self._panel.show_progress(0)
        self._bridge.examine(work.run, lambda result: self._answer(work, name, result))

    def cancel(self) -> None:
        """Stop; nothing is told of it any more."""
        work, self._present = self._present, None
        if work is not None:
            work.cancel()
            self._panel.show_nothing()

    def _tell(self, work: object, frames: int) -> None:
        if work is self._present:
            self._panel.show_progress(frames)

    def _answer(self, work: Verification, name: str, result: object) -> None:
        if work is not self._present:
            return
        self._present = None
        if isinstance(result, Report):
            self._panel.show_report(name, result)
            return
        self._panel.show_nothing()
        if not isinstance(result, CancelledError):
            self.failed.emit(result)
