"""The line under the picture: state, rate, delay, what the engine is doing about it."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.gui.widgets import label, restyle


@dataclass(frozen=True)
class Figures:
    """What the status line shows.

    Attributes:
        fps: pictures that left in the last second.
        delay_p95_ms: 95 % of frames left within this time after capture.
        faces: faces in the newest picture.
        step: the controller's quality step.
    """

    fps: float = 0.0
    delay_p95_ms: float = 0.0
    faces: int = 0
    step: str = ""


class StatusBar(QWidget):
    """State and figures; `set_state` and `set_figures` are the whole interface."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("statusbar")
        self.state = label("", "state")
        self.state.setAccessibleName(self.tr("State"))
        self.fps = self._figure(self.tr("Pictures a second"))
        self.delay = self._figure(self.tr("95 % of pictures leave within this time after capture"))
        self.faces = self._figure(self.tr("Faces in the picture"))
        self.step = self._figure(self.tr("Quality step that keeps the delay within its budget"))
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 0, 2, 0)
        row.setSpacing(18)
        row.addWidget(self.state)
        row.addStretch(1)
        for one in (self.step, self.faces, self.fps, self.delay):
            row.addWidget(one)
        self.set_state(self.tr("Stopped"), "")

    def set_state(self, text: str, tone: str) -> None:
        """Say what is going on; `tone` is "", good, warn or danger."""
        self.state.setText(text)
        restyle(self.state, "tone", tone)

    def set_figures(self, figures: Figures | None) -> None:
        """Show figures; None while nothing runs."""
        if figures is None:
            for one in (self.fps, self.delay, self.faces, self.step):
                one.clear()
            return
        self.fps.setText(self.tr("%.0f fps") % figures.fps)
        self.delay.setText(self.tr("delay %.0f ms (p95)") % figures.delay_p95_ms)
        self.faces.setText(self.tr("1 face") if figures.faces == 1 else self.tr("%d faces") % figures.faces)
        self.step.setText(self.tr("quality: %s") % figures.step if figures.step else "")

    def _figure(self, explanation: str) -> QLabel:
        made = label("", "figure")
        made.setToolTip(explanation)
        made.setAccessibleDescription(explanation)
        return made
