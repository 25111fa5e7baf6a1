"""The question asked once for each new face: on what ground may it be used?"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from app.gui.widgets import label


class ConsentDialog(QDialog):
    """Ask for the basis; `basis` is the answer once the dialog was accepted."""

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
        answers = QVBoxLayout()
        answers.setSpacing(10)
        for number, (basis, text) in enumerate(self._answers()):
            button = QRadioButton(text)
            button.setProperty("basis", basis)
            self._group.addButton(button, number)
            answers.addWidget(button)
        self._buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.accept_button = self._buttons.button(QDialogButtonBox.StandardButton.Ok)
        self.accept_button.setText(self.tr("Use this face"))
        self.accept_button.setProperty("kind", "primary")
        self.accept_button.setEnabled(False)
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        self._group.buttonClicked.connect(lambda: self.accept_button.setEnabled(True))

        right = QVBoxLayout()
        right.setSpacing(12)
        for widget in (question, why):
            right.addWidget(widget)
        right.addLayout(answers)
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
    def basis(self) -> str:
        """The word that the consent record keeps."""
        checked = self._group.checkedButton()
        return str(checked.property("basis")) if checked else ""

    def choose(self, basis: str) -> None:
        """Tick the answer with this word."""
        for button in self._group.buttons():
            if button.property("basis") == basis:
                button.click()

    def _answers(self) -> list[tuple[str, str]]:
        return [
            ("self", self.tr("&It is me")),
            ("permission", self.tr("I have this person's &permission")),
            ("fictional", self.tr("A &fictional or generated person")),
            ("public-domain", self.tr("A picture in the public &domain, used lawfully")),
        ]
