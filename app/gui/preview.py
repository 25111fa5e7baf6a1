"""The live picture: the newest output, drawn when Qt is ready to draw."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QKeyEvent, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.gui import theme
from engine.types import Image, Output, Shown

_STEP = 0.02
_RADIUS = 12


class Preview(QWidget):
    """Draws outputs scaled to fit; can put the untouched input beside them, after an explicit request.

    The comparison paints the input into this widget and nowhere else: sinks get their pictures from
    the engine, never from here.
    """

    split_moved = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(QSize(320, 200))
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(self.tr("Preview"))
        self._output: Output | None = None
        self._hint = ""
        self._comparing = False
        self._split = 0.5

    @property
    def output(self) -> Output | None:
        """What is drawn now."""
        return self._output

    @property
    def comparing(self) -> bool:
        """Whether the untouched input is shown left of the split."""
        return self._comparing

    def show_output(self, output: Output | None) -> None:
        """Draw this output from now on; None shows the hint."""
        if output is not self._output:
            self._output = output
            self.update()

    def set_hint(self, text: str) -> None:
        """What to say while there is no picture."""
        self._hint = text
        self.update()

    def set_comparing(self, on: bool) -> None:
        """Show the untouched input left of a movable line."""
        self._comparing = on
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if on else Qt.FocusPolicy.NoFocus)
        self.setCursor(Qt.CursorShape.SplitHCursor if on else Qt.CursorShape.ArrowCursor)
        self.update()

    def set_split(self, at: float) -> None:
        """Move the line; 0 is the picture's left edge, 1 its right."""
        self._split = min(max(at, 0.0), 1.0)
        self.split_moved.emit(self._split)
        self.update()

    def picture_rect(self) -> QRect:
        """Where the picture is drawn, in this widget's coordinates."""
        if self._output is None:
            return self.rect()
        height, width = self._output.image.shape[:2]
        size = QSize(width, height).scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        corner = QPointF((self.width() - size.width()) / 2, (self.height() - size.height()) / 2)
        return QRect(corner.toPoint(), size)

    # Qt's events

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the newest picture, or the hint."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), theme.colour("background"))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("stage"))
        painter.drawRoundedRect(self.rect(), _RADIUS, _RADIUS)
        clip = QPainterPath()
        clip.addRoundedRect(QRectF(self.picture_rect()), _RADIUS, _RADIUS)
        painter.setClipPath(clip)
        if self._output is None:
            self._paint_hint(painter)
        else:
            self._paint_picture(painter, self._output)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take the line to where the mouse is."""
        self.mouseMoveEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the line with the mouse."""
        rect = self.picture_rect()
        if self._comparing and event.buttons() & Qt.MouseButton.LeftButton:
            self.set_split((event.position().x() - rect.left()) / max(rect.width(), 1))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the line with the arrow keys."""
        step = {Qt.Key.Key_Left.value: -_STEP, Qt.Key.Key_Right.value: _STEP}.get(event.key(), 0.0)
        if self._comparing and step:
            self.set_split(self._split + step)
        else:
            super().keyPressEvent(event)

    # painting

    def _paint_hint(self, painter: QPainter) -> None:
        size = 72
        icon = theme.icon("kawari", None)
        middle = self.rect().center()
        icon.paint(painter, QRect(middle.x() - size // 2, middle.y() - size, size, size))
        painter.setPen(theme.colour("muted"))
        text = self.rect().adjusted(40, middle.y() - self.rect().top() + 18, -40, 0)
        painter.drawText(text, Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextWordWrap, self._hint)

    def _paint_picture(self, painter: QPainter, output: Output) -> None:
        rect = self.picture_rect()
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(rect, as_qimage(output.image))
        if self._comparing:
            self._paint_before(painter, rect, output.frame.image)
        if output.shown is Shown.PASSED:
            self._paint_warning(painter, rect)

    def _paint_before(self, painter: QPainter, rect: QRect, image: Image) -> None:
        x = rect.left() + self._split * rect.width()
        painter.save()
        left = QRectF(rect.left(), rect.top(), x - rect.left(), rect.height())
        painter.setClipRect(left, Qt.ClipOperation.IntersectClip)
        painter.drawImage(rect, as_qimage(image))
        painter.restore()
        painter.setPen(QPen(QColor("white"), 2))
        painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom()))
        painter.setBrush(QColor("white"))
        painter.drawEllipse(QPointF(x, rect.center().y()), 7, 7)
        self._tag(painter, self.tr("Your real face, seen in this window only"), rect, "danger")

    def _paint_warning(self, painter: QPainter, rect: QRect) -> None:
        painter.setPen(QPen(theme.colour("danger"), 8))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(QRectF(rect), _RADIUS, _RADIUS)
        self._tag(painter, self.tr("Pass-through: your real face is going out"), rect, "danger")

    def _tag(self, painter: QPainter, text: str, rect: QRect, tone: str) -> None:
        font = painter.font()
        font.setBold(True)
        painter.setFont(font)
        metrics = painter.fontMetrics()
        box = QRectF(
            rect.left() + 14,
            rect.bottom() - 20 - metrics.height(),
            metrics.horizontalAdvance(text) + 24,
            metrics.height() + 8,
        )
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour(tone))
        painter.drawRoundedRect(box, box.height() / 2, box.height() / 2)
        painter.setPen(theme.colour("on_accent"))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def as_qimage(image: Image) -> QImage:
    """A view of a picture (uint8, H×W×3, BGR, rows contiguous) without a copy.

    Safe as long as the array is never written to, which `Frame` and `Output` promise; the QImage
    must not outlive the caller's reference to the array.
    """
    height, width = image.shape[:2]
    return QImage(image.data, width, height, image.strides[0], QImage.Format.Format_BGR888)
