"""The panels at the right of the picture, a tab for each purpose; a tab scrolls where the window is low."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QScrollArea, QTabWidget, QVBoxLayout, QWidget

from app.gui.badge_panel import BadgePanel
from app.gui.camera_panel import CameraPanel
from app.gui.consent_panel import ConsentPanel
from app.gui.figures_panel import FiguresPanel
from app.gui.guard_panel import GuardPanel
from app.gui.page_panel import PagePanel
from app.gui.photo_panel import PhotoPanel
from app.gui.record_panel import RecordPanel
from app.gui.settings import Settings
from app.gui.sound_panel import SoundPanel
from app.gui.source_panel import SourcePanel
from app.gui.swap_panel import SwapPanel
from app.gui.verify_panel import VerifyPanel
from app.gui.virtual_camera_panel import VirtualCameraPanel
from app.gui.vtuber_panel import VtuberPanel

_WIDTH = 352


class Sidebar(QTabWidget):
    """Swap (face, camera, how), outputs, safety, figures, verify; Ctrl+1, 2 … go to a tab."""

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedWidth(_WIDTH)
        self.setDocumentMode(True)
        self.tabBar().setDrawBase(False)
        self.tabBar().setExpanding(True)
        self.tabBar().setUsesScrollButtons(False)
        self.setAccessibleName(self.tr("Settings"))
        self.source = SourcePanel()
        self.camera = CameraPanel(settings.camera)
        self.swap = SwapPanel(settings.swap)
        self.virtual_camera = VirtualCameraPanel(settings.output)
        self.record = RecordPanel()
        self.sound = SoundPanel(settings.sound)
        self.page = PagePanel(settings.output)
        self.vtuber = VtuberPanel(settings.output)
        self.guard = GuardPanel(settings.guard)
        self.badge = BadgePanel(settings.badge)
        self.consents = ConsentPanel()
        self.figures = FiguresPanel(settings.delay)
        self.photos = PhotoPanel()
        self.verify = VerifyPanel()
        self._add(self.tr("Swap"), self.source, self.camera, self.swap)
        self._add(self.tr("Outputs"), self.virtual_camera, self.record, self.sound, self.page, self.vtuber)
        self._add(self.tr("Safety"), self.guard, self.badge, self.consents)
        self._add(self.tr("Figures"), self.figures, self.photos)
        self._add(self.tr("Verify"), self.verify)

    def _add(self, title: str, *panels: QWidget) -> None:
        inside = QWidget()
        inside.setObjectName("sidebar")
        rows = QVBoxLayout(inside)
        rows.setContentsMargins(0, 0, 6, 0)
        rows.setSpacing(10)
        for panel in panels:
            rows.addWidget(panel)
        rows.addStretch(1)
        page = QScrollArea()
        page.setFrameShape(QFrame.Shape.NoFrame)
        page.setWidgetResizable(True)
        page.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        page.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its panels have it
        page.setWidget(inside)
        at = self.addTab(page, title)
        key = QKeySequence(f"Ctrl+{at + 1}")
        QShortcut(key, self, lambda: self.setCurrentIndex(at))
        self.setTabToolTip(at, key.toString(QKeySequence.SequenceFormat.NativeText))
