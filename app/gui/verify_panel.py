"""Was this made by Kawari? A file by drag and drop or button, or what a camera shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QProgressBar, QPushButton, QWidget

from app.gui import theme
from app.gui.drop_card import DropCard
from app.gui.facts import Fact, Facts
from app.gui.widgets import label, let_shrink, restyle
from app.options import CameraConfig
from engine.devices import Camera
from engine.mark.detector import Verdict
from engine.mark.manifest import Statement, Trust

if TYPE_CHECKING:
    from engine.mark.verify import Report


class VerifyPanel(DropCard):
    """Emits `wanted` with a `Path` or a `CameraConfig`; `show_…` tell how it goes."""

    wanted = Signal(object)
    cancelled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Was this made by Kawari?"))
        self._about = label(
            self.tr("Drop a clip or picture here. Its watermark and its signed statement are looked for."),
            "muted",
            wrap=True,
        )
        self.choose = QPushButton(self.tr("Choose a &file…"))
        theme.set_button_icon(self.choose, "folder")
        self.cameras = QComboBox()
        self.cameras.setAccessibleName(self.tr("Camera to look through"))
        self.look = QPushButton(self.tr("&Look"))
        self.look.setToolTip(self.tr("Look through this camera for a few seconds"))
        self.progress = QProgressBar()
        self.progress.setRange(0, 0)
        self.progress.setTextVisible(False)
        self.progress.setFixedHeight(4)
        self.cancel = QPushButton(self.tr("Canc&el"))
        self.verdict = label("", "title", wrap=True)
        self.verdict.setAccessibleName(self.tr("Verdict"))
        self.facts = Facts()

        let_shrink(self.cameras)
        through = QHBoxLayout()
        through.addWidget(self.cameras, 1)
        through.addWidget(self.look)
        for widget in (self._about, self.choose):
            self.body.addWidget(widget)
        self.body.addLayout(through)
        self.body.addWidget(self.progress)
        self.body.addWidget(self.verdict)
        self.body.addWidget(self.facts)
        self.body.addWidget(self.cancel)
        self.dropped.connect(lambda files: self.wanted.emit(files[0]))
        self.choose.clicked.connect(self._browse)
        self.look.clicked.connect(lambda: self.wanted.emit(CameraConfig(self.cameras.currentData())))
        self.cancel.clicked.connect(self.cancelled)
        self.set_cameras([])
        self.show_nothing()

    def set_cameras(self, cameras: Sequence[Camera]) -> None:
        """Offer these cameras; virtual ones are welcome here."""
        chosen = self.cameras.currentData()
        self.cameras.clear()
        for camera in cameras:
            self.cameras.addItem(camera.name, camera.path or str(camera.index))
        self.cameras.setCurrentIndex(max(self.cameras.findData(chosen), 0))
        self.cameras.setEnabled(bool(cameras))
        self.look.setEnabled(bool(cameras))
        if not cameras:
            self.cameras.addItem(self.tr("No camera found"))

    def show_nothing(self) -> None:
        """Nothing was examined yet, or it was stopped."""
        self._set_busy(False)
        self.verdict.hide()
        self.facts.show_facts([])

    def show_progress(self, frames: int) -> None:
        """It is being examined; so many frames were read."""
        self._set_busy(True)
        self.facts.show_facts([])
        self.verdict.setText(self.tr("Looking… %n frames read", "", frames))
        restyle(self.verdict, "role", "muted")
        self.verdict.show()

    def show_report(self, name: str, report: Report) -> None:
        """What was found in the file or camera of that name."""
        self._set_busy(False)
        verdicts = [one.verdict for one in (report.watermark, report.private) if one is not None]
        best = next((one for one in Verdict if one in verdicts), Verdict.ABSENT)  # the surest first
        text, role = {
            Verdict.PRESENT: (self.tr("Made by Kawari"), "verdict-good"),
            Verdict.UNCERTAIN: (self.tr("Perhaps: not enough to be sure"), "verdict-warn"),
            Verdict.ABSENT: (self.tr("No watermark of Kawari found"), "title"),
        }[best]
        self.verdict.setText(text)
        restyle(self.verdict, "role", role)
        self.verdict.show()
        self.facts.show_facts([(self.tr("Of"), name), *self._mark(report), *self._manifest(report)])

    def _browse(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, self.tr("A clip or picture"))
        if name:
            self.wanted.emit(Path(name))

    def _set_busy(self, busy: bool) -> None:
        self.progress.setVisible(busy)
        self.cancel.setVisible(busy)

    def _mark(self, report: Report) -> Iterator[Fact]:
        found = report.watermark
        verdict = {
            Verdict.PRESENT: self.tr("present"),
            Verdict.UNCERTAIN: self.tr("uncertain"),
            Verdict.ABSENT: self.tr("absent"),
        }[found.verdict]
        yield self.tr("Watermark"), self.tr("%s (z %.1f)") % (verdict, found.z)
        yield self.tr("Frames used"), str(found.frames)
        if report.private is not None and report.private.verdict is Verdict.PRESENT:
            yield self.tr("Your own key"), self.tr("found (z %.1f)") % report.private.z, "good"
        if found.payload is not None:
            payload = found.payload
            yield self.tr("Says"), self.tr("Kawari %s, on %s") % (
                "{}.{}".format(*payload.version), payload.day.isoformat(),
            )  # fmt: skip
            yield self.tr("Installation"), self.tr("%06x (random)") % payload.install

    def _manifest(self, report: Report) -> Iterator[Fact]:
        found = report.manifest
        if found is None:  # a camera
            return
        text, role = {
            Trust.TRUSTED: (self.tr("trusted: unchanged, by a signer trusted here"), "good"),
            Trust.UNTRUSTED: (self.tr("valid, but nobody here vouches for the signer"), "warn"),
            Trust.TAMPERED: (self.tr("tampered: changed after signing"), "danger"),
            Trust.ABSENT: (self.tr("none"), "fact"),
        }[found.trust]
        yield self.tr("Statement"), text, role
        if found.trust is not Trust.ABSENT:
            yield from self._statement(found)
        if report.agree is False:
            yield "", self.tr("It names another watermark than the one found."), "danger"

    def _statement(self, found: Statement) -> Iterator[Fact]:
        if found.generator:
            yield self.tr("Made with"), found.generator
        if found.signer:
            yield self.tr("Signed by"), found.signer
        if found.synthetic:
            yield self.tr("Content"), self.tr("says that it is synthetic")
