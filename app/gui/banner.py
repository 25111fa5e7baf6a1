"""Messages that never block: a stack of banners over the preview, each with its remedy."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.gui import theme
from app.gui.widgets import label
from engine.errors import KawariError

_ICONS = {"info": ("info", "accent"), "warn": ("warning", "warn"), "error": ("warning", "danger")}
_INFO_MS = 8000
_MOST = 3


class Banner(QFrame):
    """One message with its remedy and a button that puts it away."""

    def __init__(self, level: str, message: str, remedy: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")
        self.setProperty("level", level)
        self.message, self.remedy, self.level = message, remedy, level
        self.setAccessibleName(f"{message}. {remedy}")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)

        picture = QLabel()
        picture.setPixmap(theme.icon(*_ICONS[level]).pixmap(QSize(20, 20), self.devicePixelRatioF()))
        text = QVBoxLayout()
        text.setSpacing(2)
        text.addWidget(label(message, wrap=True))
        if remedy:
            text.addWidget(label(remedy, "muted", wrap=True))
        close = QToolButton()
        close.setProperty("kind", "ghost")
        theme.set_button_icon(close, "close", "muted")
        close.setToolTip(self.tr("Dismiss"))
        close.setAccessibleName(self.tr("Dismiss this message"))
        close.clicked.connect(self.dismiss)

        row = QHBoxLayout(self)
        row.setContentsMargins(12, 9, 8, 9)
        row.setSpacing(10)
        row.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(text, 1)
        row.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)

    def dismiss(self) -> None:
        """Take the banner off the window."""
        self.hide()
        self.setParent(None)
        self.deleteLater()


class BannerStack(QWidget):
    """The newest few banners, newest on top; the same message is never there twice."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(6)
        self._rows.addStretch(1)

    def show_error(self, error: Exception) -> None:
        """Show any error as a sentence and what would help."""
        if isinstance(error, KawariError):
            self.show_message("error", error.message, error.remedy)
        else:
            self.show_message("error", self.tr("Something unexpected went wrong: %s") % error)

    def show_message(self, level: str, message: str, remedy: str = "") -> None:
        """Show a message; `level` is info (goes away by itself), warn or error."""
        for banner in self.banners():
            if banner.message == message:
                banner.dismiss()
        for banner in self.banners()[_MOST - 1 :]:
            banner.dismiss()
        banner = Banner(level, message, remedy)
        self._rows.insertWidget(0, banner)
        if level == "info":
            QTimer.singleShot(_INFO_MS, banner, banner.dismiss)

    def clear(self, level: str) -> None:
        """Put all banners of one level away."""
        for banner in self.banners():
            if banner.level == level:
                banner.dismiss()

    def banners(self) -> list[Banner]:
        """What is shown now, newest first."""
        items = (self._rows.itemAt(i) for i in range(self._rows.count()))
        return [w for item in items if item is not None and isinstance(w := item.widget(), Banner)]
