"""A panel that takes files by drag and drop."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from app.gui.widgets import Card, restyle


class DropCard(Card):
    """Emits `dropped` with the paths of files; shows while some hover over it."""

    dropped = Signal(list)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAcceptDrops(True)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take files."""
        if _files(event):
            restyle(self, "drop", True)
            event.acceptProposedAction()

    def dragLeaveEvent(self, _event: QDragLeaveEvent) -> None:
        """Nothing is being dropped after all."""
        restyle(self, "drop", False)

    def dropEvent(self, event: QDropEvent) -> None:
        """Files were dropped."""
        restyle(self, "drop", False)
        files = _files(event)
        if files:
            event.acceptProposedAction()
            self.dropped.emit(files)


def _files(event: QDropEvent | QDragEnterEvent) -> list[Path]:
    return [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
