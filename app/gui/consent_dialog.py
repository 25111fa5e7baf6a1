"""The question asked once for each new face: on what ground may it be used, and on whose word?"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from app.gui.consent_details import Answer, ConsentDetails
from app.gui.widgets import label
from engine.identity.consent import Basis


class ConsentDialog(QDialog):
    """Ask for the basis, and for details if there are any; `answer` is there once it was accepted."""

    def __init__(self, thumbnail: QPixmap, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("May this face be used?"))
        self.setMinimumWidth(480)
        picture = QLabel()
        picture.setPixmap(thumbnail)
        picture.setAlignment(Qt.AlignmentFlag.AlignTop)
        question = label(self.tr("May this face be used?"), "title")
        why = label(
            self.tr(
                "Wearing somebody's face needs their consent. Your answer is kept on this computer, "
                "with the face, and you are not asked again."
            ),
            "muted",
            wrap=True,
        )
        self._group = QButtonGroup(self)
        self._bases: dict[QAbstractButton, Basis] = {}
        answers = QVBoxLayout()
        answers.setSpacing(10)
        for number, (basis, text) in enumerate(self._answers()):
            button = QRadioButton(text)
            self._bases[button] = basis
            self._group.addButton(button, number)
            answers.addWidget(button)
        self.more = QPushButton(self.tr("&More: who, what for, until when, a release form"))
        self.more.setProperty("kind", "link")
        self.more.setCheckable(True)
        self.details = ConsentDetails()
        self.details.hide()
        self.more.toggled.connect(self._show_details)
        self._buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.accept_button = self._buttons.button(QDialogButtonBox.StandardButton.Ok)
        self.accept_button.setText(self.tr("Use this face"))
        self.accept_button.setProperty("kind", "primary")
        self.accept_button.setEnabled(False)
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        self._group.buttonClicked.connect(self._chosen)

        right = QVBoxLayout()
        right.setSpacing(12)
        for widget in (question, why):
            right.addWidget(widget)
        right.addLayout(answers)
        right.addWidget(self.more)
        right.addWidget(self.details)
        top = QHBoxLayout()
        top.setSpacing(18)
        top.addWidget(picture)
        top.addLayout(right, 1)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(22, 20, 22, 18)
        rows.setSpacing(18)
        rows.addLayout(top)
        rows.addWidget(self._buttons)

    @property
    def answer(self) -> Answer:
        """What the consent record keeps; only after a ground was chosen."""
        checked = self._group.checkedButton()
        assert checked is not None
        return self.details.answer(self._bases[checked])

    def choose(self, basis: Basis) -> None:
        """Give an answer."""
        next(button for button, one in self._bases.items() if one is basis).click()

    def _chosen(self, button: QAbstractButton) -> None:
        self.accept_button.setEnabled(True)
        if self._bases[button] is Basis.PERMISSION:
            self.more.setChecked(True)  # whose?

    def _show_details(self, on: bool) -> None:
        self.details.setVisible(on)
        self.adjustSize()

    def _answers(self) -> list[tuple[Basis, str]]:
        return [
            (Basis.SELF, self.tr("&It is me")),
            (Basis.PERMISSION, self.tr("I have this person's &permission")),
            (Basis.FICTIONAL, self.tr("A &fictional or generated person")),
            (Basis.PUBLIC_DOMAIN, self.tr("A picture in the public &domain, used lawfully")),
        ]
