"""Which camera, at which size and rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QFileDialog, QToolButton, QWidget

from app.gui import theme
from app.gui.widgets import Card, labelled
from app.options import CameraConfig
from app.server.desk import Choice
from engine.devices import Camera
from engine.errors import UsageError

DEMO = "demo"
_CLIP = "<clip>"
SIZES = ("640x360", "640x480", "1280x720", "1920x1080")
RATES = (24.0, 25.0, 30.0, 60.0)


class CameraPanel(Card):
    """Emits `changed` when the person chose something else, `refresh_wanted` to look for cameras again."""

    changed = Signal()
    refresh_wanted = Signal()

    def __init__(self, config: CameraConfig, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Camera"))
        self.cameras = QComboBox()
        self.size_box = QComboBox()
        self.rate = QComboBox()
        self.size_box.setEditable(True)
        refresh = QToolButton()
        refresh.setProperty("kind", "ghost")
        refresh.setProperty("role", "header")
        theme.set_button_icon(refresh, "refresh", "muted")
        refresh.setToolTip(self.tr("Look for cameras again"))
        refresh.setAccessibleName(refresh.toolTip())
        refresh.clicked.connect(self.refresh_wanted)
        self.header.addWidget(refresh)

        self.body.addLayout(labelled(self.tr("&Camera"), self.cameras))
        row = labelled(self.tr("Si&ze, rate"), self.size_box)
        self.rate.setAccessibleName(self.tr("Frames per second"))
        row.addWidget(self.rate)
        self.body.addLayout(row)

        self._wanted = config.camera
        self.size_box.addItems(SIZES)
        self.size_box.setCurrentText(config.size)
        for rate in sorted({*RATES, config.fps}):
            self.rate.addItem(self.tr("%g fps") % rate, rate)
        self.rate.setCurrentIndex(self.rate.findData(config.fps))
        self._last = 0
        self._devices: set[str] = set()
        self.set_cameras([])
        self.cameras.activated.connect(self._chosen)
        self.size_box.currentTextChanged.connect(self.changed)
        self.rate.activated.connect(self.changed)

    def config(self) -> CameraConfig:
        """What is chosen.

        Raises:
            UsageError: the size typed in is none.
        """
        return CameraConfig(self.cameras.currentData(), self.size_box.currentText(), self.rate.currentData())

    @property
    def real(self) -> bool:
        """Whether a device is chosen, not the demo or a clip."""
        return self.cameras.currentData() in self._devices

    def stored_config(self) -> CameraConfig:
        """What is chosen, with the standard size in place of an unusable one."""
        try:
            return self.config()
        except UsageError:
            return CameraConfig(camera=self.cameras.currentData())

    def set_cameras(self, cameras: Sequence[Camera]) -> None:
        """Offer these cameras, the demo camera and a clip; keep the choice if it is still there."""
        with QSignalBlocker(self.cameras):
            self.cameras.clear()
            self._devices = set()
            names = Counter(camera.name for camera in cameras)
            for camera in cameras:
                # A name survives plugging into another port; where two share one, the path tells them apart.
                key = camera.name if names[camera.name] == 1 else camera.path or str(camera.index)
                self.cameras.addItem(camera.name, key)
                self._devices.add(key)
            self.cameras.addItem(self.tr("Demo camera"), DEMO)
            if Path(self._wanted).is_file():  # a clip that was chosen before
                self.cameras.addItem(Path(self._wanted).name, self._wanted)
            self.cameras.addItem(self.tr("Play a clip…"), _CLIP)
            at = self.cameras.findData(self._wanted)
            self.cameras.setCurrentIndex(max(at, 0))
            self._last = self.cameras.currentIndex()

    def choices(self) -> list[Choice]:
        """All that may be chosen without a dialog."""
        present = self.cameras.currentData()
        entries = [
            (self.cameras.itemData(at), self.cameras.itemText(at)) for at in range(self.cameras.count())
        ]
        return [Choice(key, name, key == present) for key, name in entries if key != _CLIP]

    def select(self, key: str) -> None:
        """Choose a camera by its key, the demo, or a clip that is played as if it were a camera."""
        at = self.cameras.findData(key)
        if at < 0:
            at = self.cameras.count() - 1
            self.cameras.insertItem(at, Path(key).name, key)
        self.cameras.setCurrentIndex(at)
        self._settle()

    def _chosen(self) -> None:
        if self.cameras.currentData() != _CLIP:
            self._settle()
            return
        self.cameras.setCurrentIndex(self._last)
        path, _ = QFileDialog.getOpenFileName(self, self.tr("Play a clip as the camera"))
        if path:
            self.select(path)

    def _settle(self) -> None:
        self._last = self.cameras.currentIndex()
        self._wanted = self.cameras.currentData()
        self.changed.emit()
