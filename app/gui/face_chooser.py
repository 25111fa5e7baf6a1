"""Which of several faces in a photo: click one, or step through them with Tab and press Return."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QVBoxLayout, QWidget

from app.gui import theme
from app.gui.preview import as_qimage
from app.gui.widgets import label
from engine.types import Image

Box = tuple[float, float, float, float]
_LARGEST = QSize(760, 520)


class FacePicture(QWidget):
    """A photo with a frame round each face; emits `chosen` with the face's number."""

    chosen = Signal(int)

    def __init__(self, image: Image, boxes: Sequence[Box], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._image, self._boxes, self.current = image, list(boxes), 0
        height, width = image.shape[:2]
        self.setFixedSize(QSize(width, height).scaled(_LARGEST, Qt.AspectRatioMode.KeepAspectRatio))
        self._scale = self.width() / width
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName(self.tr("Photo with %n faces", "", len(boxes)))

    def rect_of(self, number: int) -> QRect:
        """Where a face is drawn."""
        x0, y0, x1, y1 = (value * self._scale for value in self._boxes[number])
        return QRectF(x0, y0, x1 - x0, y1 - y0).toRect().adjusted(-6, -10, 6, 6)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The photo, dimmed outside the current face."""
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(self.rect(), as_qimage(self._image))
        for number in range(len(self._boxes)):
            here = number == self.current
            painter.setPen(QPen(theme.colour("accent" if here else "text"), 4 if here else 1.5))
            painter.drawRoundedRect(self.rect_of(number), 8, 8)
        painter.end()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Mark the face under the mouse."""
        self._mark(self._at(event))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the face under the mouse."""
        if (number := self._at(event)) is not None:
            self._mark(number)
            self.chosen.emit(number)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows step through the faces, Return and Space choose."""
        key = event.key()
        if key in (Qt.Key.Key_Right, Qt.Key.Key_Down):
            self._mark((self.current + 1) % len(self._boxes))
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Up):
            self._mark((self.current - 1) % len(self._boxes))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.chosen.emit(self.current)
        else:
            super().keyPressEvent(event)

    def _at(self, event: QMouseEvent) -> int | None:
        point = event.position().toPoint()
        return next((n for n in range(len(self._boxes)) if self.rect_of(n).contains(point)), None)

    def _mark(self, number: int | None) -> None:
        if number is not None and number != self.current:
            self.current = number
            self.update()


class FaceChooser(QDialog):
    """Ask which face; `number` is the answer once the dialog was accepted."""

    def __init__(self, image: Image, boxes: Sequence[Box], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Choose a face"))
        self.picture = FacePicture(image, boxes)
        self.picture.chosen.connect(self.accept)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.rejected.connect(self.reject)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(20, 18, 20, 16)
        rows.setSpacing(12)
        rows.addWidget(
            label(self.tr("There are several people in this photo. Click the one to use."), "heading")
        )
        rows.addWidget(self.picture)
        rows.addWidget(buttons)
        self.picture.setFocus()

    @property
    def number(self) -> int:
        """The face chosen, counted from 0 in the order given."""
        return self.picture.current
