"""The live picture: the newest output, drawn when Qt is ready to draw."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, QSizeF, Qt, Signal
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
    person_picked = Signal(int, QPoint)
    """`Face.id` of somebody in the picture who was clicked, or chosen by key, and where on the screen."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(QSize(320, 200))
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(self.tr("Preview"))
        self.setAccessibleDescription(
            self.tr("Arrow keys step through the faces, Return opens what may be done about one")
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self._output: Output | None = None
        self._hint = ""
        self._comparing = False
        self._split = 0.5
        self._marks: Mapping[int, str] = {}
        self._current: int | None = None

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
            if self._current not in self.persons():
                self._current = None
            self.update()

    def set_hint(self, text: str) -> None:
        """What to say while there is no picture."""
        self._hint = text
        self.update()

    def set_comparing(self, on: bool) -> None:
        """Show the untouched input left of a movable line."""
        self._comparing = on
        self.setCursor(Qt.CursorShape.SplitHCursor if on else Qt.CursorShape.ArrowCursor)
        self.update()

    def set_split(self, at: float) -> None:
        """Move the line; 0 is the picture's left edge, 1 its right."""
        self._split = min(max(at, 0.0), 1.0)
        self.split_moved.emit(self._split)
        self.update()

    def set_marks(self, marks: Mapping[int, str]) -> None:
        """Draw a frame with these words round persons (by `Face.id`), in this window only."""
        self._marks = dict(marks)
        self.update()

    def persons(self) -> list[int]:
        """Who can be picked, from left to right; nobody while a card, or another picture, is shown."""
        output = self._output
        if output is None or output.shown not in (Shown.SWAPPED, Shown.NOTHING_TO_SWAP):
            return []
        return [face.id for face in sorted(output.faces, key=lambda face: face.box[0])]

    def rect_of(self, person: int) -> QRectF:
        """Where somebody's face is drawn; empty if they can't be picked."""
        if self._output is None or person not in self.persons():
            return QRectF()
        picture = self.picture_rect()
        x0, y0, x1, y1 = next(face.box for face in self._output.faces if face.id == person)
        scale = picture.width() / self._output.image.shape[1]
        corner = QPointF(picture.left() + x0 * scale, picture.top() + y0 * scale)
        return QRectF(corner, QSizeF((x1 - x0) * scale, (y1 - y0) * scale)) & QRectF(picture)

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
        """Take the line to where the mouse is, or pick the person there."""
        if self._comparing:
            self.mouseMoveEvent(event)
        elif event.button() == Qt.MouseButton.LeftButton:
            self._mark(self._at(event.position()))
            if self._current is not None:
                self.person_picked.emit(self._current, event.globalPosition().toPoint())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the line with the mouse, or mark the person under it."""
        rect = self.picture_rect()
        if not self._comparing:
            self._mark(self._at(event.position()))
        elif event.buttons() & Qt.MouseButton.LeftButton:
            self.set_split((event.position().x() - rect.left()) / max(rect.width(), 1))

    def leaveEvent(self, event: QEvent) -> None:
        """Nobody is under the mouse any more."""
        super().leaveEvent(event)
        if not self._comparing:
            self._mark(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the line with the arrow keys, or step through the persons and pick one."""
        step = {Qt.Key.Key_Left.value: -1, Qt.Key.Key_Right.value: 1}.get(event.key(), 0)
        pick = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Menu)
        persons = self.persons()
        if self._comparing and step:
            self.set_split(self._split + step * _STEP)
        elif step and persons:
            at = persons.index(self._current) + step if self._current in persons else min(step, 0)
            self._mark(persons[at % len(persons)])
        elif pick and self._current is not None:
            where = self.rect_of(self._current).center().toPoint()
            self.person_picked.emit(self._current, self.mapToGlobal(where))
        else:
            super().keyPressEvent(event)

    def _at(self, point: QPointF) -> int | None:
        return next((person for person in self.persons() if self.rect_of(person).contains(point)), None)

    def _mark(self, person: int | None) -> None:
        if person != self._current:
            self._current = person
            hand = Qt.CursorShape.PointingHandCursor
            self.setCursor(Qt.CursorShape.ArrowCursor if person is None else hand)
            self.update()

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
        else:
            for person in self.persons():
                self._paint_person(painter, person)
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

    def _paint_person(self, painter: QPainter, person: int) -> None:
        here = person == self._current
        if not here and person not in self._marks:
            return
        box = self.rect_of(person)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(theme.colour("accent"), 3 if here else 2))
        painter.drawRoundedRect(box, 10, 10)
        if person in self._marks:
            below = box.toRect().translated(-14, painter.fontMetrics().height() + 24)
            self._tag(painter, self._marks[person], below, "accent")

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
