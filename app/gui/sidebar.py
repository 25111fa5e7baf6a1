"""The panels at the right of the picture, scrolling where the window is low."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from app.gui.camera_panel import CameraPanel
from app.gui.output_panel import OutputPanel
from app.gui.settings import Settings
from app.gui.source_panel import SourcePanel
from app.gui.swap_panel import SwapPanel

_WIDTH = 348


class Sidebar(QScrollArea):
    """Face, camera, swap, outputs."""

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFixedWidth(_WIDTH)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.source = SourcePanel()
        self.camera = CameraPanel(settings.camera)
        self.swap = SwapPanel(settings.swap, settings.guard)
        self.output = OutputPanel(settings.output)
        inside = QWidget()
        inside.setObjectName("sidebar")
        rows = QVBoxLayout(inside)
        rows.setContentsMargins(0, 0, 6, 0)
        rows.setSpacing(10)
        for panel in (self.source, self.camera, self.swap, self.output):
            rows.addWidget(panel)
        rows.addStretch(1)
        self.setWidget(inside)
