"""The picture with the messages that lie over it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.gui.banner import BannerStack
from app.gui.preview import Preview

_WIDEST = 620


class Stage(QWidget):
    """The preview, and the banners at the middle of its upper edge."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.preview = Preview()
        self.banners = BannerStack(self)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.addWidget(self.preview)
        self.banners.raise_()
        self.banners.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Place the banners anew when one comes or goes."""
        if watched is self.banners and event.type() == QEvent.Type.LayoutRequest:
            self._place()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the banners in the middle."""
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        width = min(self.width() - 32, _WIDEST)
        self.banners.resize(width, self.banners.heightForWidth(width))
        self.banners.move((self.width() - width) // 2, 16)
