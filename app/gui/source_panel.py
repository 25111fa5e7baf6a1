"""Whose face: photos by button or drag and drop, what they are worth, the built-in face."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QIcon, QPainter, QPainterPath, QPixmap
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QListView,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QTabBar,
    QToolButton,
    QWidget,
)

from app.gui import theme
from app.gui.drop_card import DropCard
from app.gui.preview import as_qimage
from app.gui.widgets import label, restyle
from engine.identity.photo import SourcePhoto

MOST = 5
_SIDE = 58
_DENSITY = 2
"""Thumbnails have so many pixels for each of the screen's logical ones, to be sharp on dense screens."""


@dataclass(frozen=True)
class Source:
    """A photo in use.

    Attributes:
        path: the file; None for the built-in face.
        number: which face in it, from 1, the largest.
        photo: what was read from it.
    """

    path: Path | None
    number: int
    photo: SourcePhoto


class SourcePanel(DropCard):
    """Emits `photos_given` with new files; shows what `set_sources` says."""

    photos_given = Signal(list)
    removed = Signal(int)
    built_in_wanted = Signal()
    face_wanted = Signal()
    """Another face is to be begun."""
    face_selected = Signal(int)
    """A face is to be shown and worn."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Face"))
        self._built_in = QToolButton()
        self._built_in.setProperty("kind", "ghost")
        self._built_in.setProperty("role", "header")
        self._built_in.setText(self.tr("Built-in face"))
        self._built_in.setToolTip(self.tr("Use the face that comes with Kawari"))
        self._built_in.clicked.connect(self.built_in_wanted)
        self.header.addWidget(self._built_in)
        self.another = QToolButton()
        self.another.setProperty("kind", "ghost")
        self.another.setProperty("role", "header")
        theme.set_button_icon(self.another, "plus", "muted")
        self.another.setToolTip(
            self.tr("Another face: to change over to, or for a second person before the camera")
        )
        self.another.setAccessibleName(self.tr("Add another face"))
        self.another.clicked.connect(self.face_wanted)
        self.header.addWidget(self.another)

        self.tabs = QTabBar()
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setAccessibleName(self.tr("Faces"))
        self.tabs.hide()
        self.tabs.currentChanged.connect(self.face_selected)
        self.body.addWidget(self.tabs)

        self.list = QListWidget()
        self.list.setViewMode(QListView.ViewMode.IconMode)
        self.list.setFlow(QListView.Flow.LeftToRight)
        self.list.setMovement(QListView.Movement.Static)
        self.list.setWrapping(False)
        self.list.setIconSize(QSize(_SIDE, _SIDE))
        self.list.setFixedHeight(_SIDE + 12)
        self.list.setSpacing(1)
        self.list.setAcceptDrops(False)
        self.list.setAccessibleName(self.tr("Source photos"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.currentRowChanged.connect(self._describe)
        self.body.addWidget(self.list)

        self.quality = label("", "muted", wrap=True)
        self.body.addWidget(self.quality)

        self.add = QPushButton(self.tr("&Add photos…"))
        theme.set_button_icon(self.add, "add-photo")
        self.add.setToolTip(self.tr("One to five photos of the same person; or drop them here"))
        self.add.clicked.connect(self._browse)
        self.dropped.connect(self.photos_given)
        self.remove = QToolButton()
        theme.set_button_icon(self.remove, "trash", "muted")
        self.remove.setToolTip(self.tr("Remove the selected photo"))
        self.remove.setAccessibleName(self.remove.toolTip())
        self.remove.clicked.connect(lambda: self.removed.emit(self.list.currentRow()))
        row = QHBoxLayout()
        row.addWidget(self.add, 1)
        row.addWidget(self.remove)
        self.body.addLayout(row)
        self._sources: Sequence[Source] = ()
        self.set_sources(())

    def set_sources(self, sources: Sequence[Source]) -> None:
        """Show these photos."""
        self._sources = tuple(sources)
        self.list.clear()
        for source in self._sources:
            picture = thumbnail(source.photo, _SIDE)
            icon = QIcon(picture)
            icon.addPixmap(picture, QIcon.Mode.Selected)  # Qt would tint it
            item = QListWidgetItem(icon, "")
            item.setToolTip(
                source.path.name if source.path else self.tr("Built-in face (NASA, public domain)")
            )
            item.setData(Qt.ItemDataRole.AccessibleTextRole, item.toolTip())
            item.setSizeHint(QSize(_SIDE + 6, _SIDE + 6))
            self.list.addItem(item)
        self.list.setCurrentRow(len(self._sources) - 1)
        own = any(source.path for source in self._sources)
        self._built_in.setVisible(own)
        self.remove.setEnabled(own or self.tabs.count() > 1)
        self.add.setEnabled(len([s for s in self._sources if s.path]) < MOST)
        self._describe(self.list.currentRow())

    def set_faces(self, count: int, current: int) -> None:
        """Show that there are so many faces, and which of them; without asking for it."""
        with QSignalBlocker(self.tabs):
            while self.tabs.count() > count:
                self.tabs.removeTab(self.tabs.count() - 1)
            while self.tabs.count() < count:
                self.tabs.addTab(self.tr("Face %d") % (self.tabs.count() + 1))
            self.tabs.setCurrentIndex(current)
        self.tabs.setVisible(count > 1)

    def set_busy(self, busy: bool) -> None:
        """Photos are being read."""
        self.add.setEnabled(not busy)
        if busy:
            self.quality.setText(self.tr("Reading the photo…"))
        else:
            self._describe(self.list.currentRow())

    def _browse(self) -> None:
        pictures = "*.jpg *.jpeg *.png *.webp *.bmp *.tif *.tiff *.gif *.heic *.heif *.avif"
        names, _ = QFileDialog.getOpenFileNames(
            self,
            self.tr("Photos of one person"),
            "",
            self.tr("Pictures (%s);;All files (*)") % f"{pictures} {pictures.upper()}",
        )
        if names:
            self.photos_given.emit([Path(name) for name in names])

    def _describe(self, row: int) -> None:
        if not 0 <= row < len(self._sources):
            self.quality.setText(self.tr("Add a photo to start"))
            return
        source = self._sources[row]
        quality = source.photo.quality
        if source.path is None:
            self.quality.setText(self.tr("Built-in face. Add photos of your own, or drop them here."))
            restyle(self.quality, "role", "muted")
        elif quality.hints:
            self.quality.setText(" ".join(hint.rstrip(".") + "." for hint in quality.hints))
            restyle(self.quality, "role", "warn")
        else:
            self.quality.setText(
                self.tr("Good photo: face %.0f pixels wide, sharp, evenly lit.") % quality.size
            )
            restyle(self.quality, "role", "good")


def thumbnail(photo: SourcePhoto, side: int) -> QPixmap:
    """The face of a photo, square, with rounded corners; `side` in the screen's logical pixels."""
    side *= _DENSITY
    x0, y0, x1, y1 = photo.face.box
    half = max(x1 - x0, y1 - y0) * 0.78
    middle_x, middle_y = (x0 + x1) / 2, (y0 + y1) / 2 - half * 0.12
    height, width = photo.image.shape[:2]
    half = min(half, middle_x, middle_y, width - middle_x, height - middle_y)
    left, top, size = int(middle_x - half), int(middle_y - half), max(int(2 * half), 1)
    picture = as_qimage(photo.image).copy(left, top, size, size)
    scaled = picture.scaled(
        side, side, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
    )
    made = QPixmap(side, side)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    path = QPainterPath()
    path.addRoundedRect(0, 0, side, side, side * 0.14, side * 0.14)
    painter.setClipPath(path)
    painter.drawImage(0, 0, scaled)
    painter.end()
    made.setDevicePixelRatio(_DENSITY)
    return made
