"""What may be said about a consent besides its ground: who, what for, until when, and a document."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from PySide6.QtCore import QDate, Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QDateEdit,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.gui import theme
from app.gui.widgets import labelled
from engine.identity.consent import Basis, Consent, ConsentStore, end_after


@dataclass(frozen=True)
class Answer:
    """What the person said.

    Attributes:
        basis: on what ground the face may be used.
        who, purpose, expires: see `engine.identity.consent.Consent`.
        release: a file that proves it; copied when the answer is recorded.
    """

    basis: Basis
    who: str = ""
    purpose: str = ""
    expires: datetime | None = None
    release: Path | None = None

    def record(self, consents: ConsentStore, digest: str) -> Consent:
        """Put it on record for a photo.

        Raises:
            InputError: the document can't be read.
            DeviceError: the record can't be written.
        """
        document = "" if self.release is None else consents.releases.keep(self.release)
        return consents.give(
            digest, self.basis, who=self.who, purpose=self.purpose, expires=self.expires, document=document
        )


class ConsentDetails(QWidget):
    """A short form; everything in it is optional."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.who, self.purpose = QLineEdit(), QLineEdit()
        self.who.setPlaceholderText(self.tr("Name of the person"))
        self.purpose.setPlaceholderText(self.tr("Such as: my stream"))
        self.ends = QCheckBox(self.tr("&Ends after"))
        self.day = QDateEdit(QDate.currentDate().addYears(1))
        self.day.setMinimumDate(QDate.currentDate())
        self.day.setCalendarPopup(True)
        self.day.setDisplayFormat("yyyy-MM-dd")
        self.day.setEnabled(False)
        self.day.setAccessibleName(self.tr("Last day of the consent"))
        self.release: Path | None = None
        self.choose = QPushButton(self.tr("Attach a &release form…"))
        theme.set_button_icon(self.choose, "folder", "muted")
        self.choose.setToolTip(self.tr("A signed form or another proof; a copy is kept with the record"))
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(9)
        rows.addLayout(labelled(self.tr("&Who agreed"), self.who))
        rows.addLayout(labelled(self.tr("What &for"), self.purpose))
        self.ends.setMinimumWidth(86)
        end = QHBoxLayout()
        end.setSpacing(10)
        end.addWidget(self.ends)
        end.addWidget(self.day, 1)
        rows.addLayout(end)
        rows.addWidget(self.choose)
        self.ends.toggled.connect(self.day.setEnabled)
        self.choose.clicked.connect(self._browse)

    def answer(self, basis: Basis) -> Answer:
        """The form with the ground that was chosen."""
        last: date = self.day.date().toPython()  # type: ignore[assignment]
        return Answer(
            basis,
            self.who.text().strip(),
            self.purpose.text().strip(),
            end_after(last) if self.ends.isChecked() else None,
            self.release,
        )

    def attach(self, path: Path) -> None:
        """Take this file as the proof."""
        self.release = path
        self.choose.setText(
            self.choose.fontMetrics().elidedText(path.name, Qt.TextElideMode.ElideMiddle, 260)
        )

    def _browse(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, self.tr("A release form or another proof"))
        if name:
            self.attach(Path(name))
