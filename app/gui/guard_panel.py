"""What is shown instead of a face that could not be swapped."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QMessageBox, QWidget

from app.gui.widgets import Card, help_of, label, labelled, restyle
from engine.config import GuardConfig, GuardPolicy


class GuardPanel(Card):
    """Emits `changed` at once, also while the engine runs."""

    changed = Signal(object)
    """The new `GuardConfig`."""

    def __init__(self, guard: GuardConfig, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("If the face is lost"))
        self._guard = guard
        self.policy = QComboBox()
        self.policy.setToolTip(help_of(GuardConfig, "policy"))
        for policy, text in self._policies():
            self.policy.addItem(text, policy)
        self.policy.setCurrentIndex(self.policy.findData(guard.policy))
        self._hint = label("", "muted", wrap=True)
        self.body.addLayout(labelled(self.tr("Sh&ow"), self.policy))
        self.body.addWidget(self._hint)
        self.policy.activated.connect(self._chosen)
        self._agreed = self.policy.currentIndex()
        self._describe()

    def config(self) -> GuardConfig:
        """What is chosen."""
        chosen: GuardPolicy = self.policy.currentData()
        return replace(self._guard, policy=chosen)

    def set_policy(self, policy: GuardPolicy) -> None:
        """Choose what is shown instead, as if by hand."""
        self.policy.setCurrentIndex(self.policy.findData(policy))
        self._chosen(self.policy.currentIndex())

    def confirm_pass_through(self) -> bool:
        """Ask whether the real face may really be shown."""
        answer = QMessageBox.warning(
            self,
            self.tr("Show your real face?"),
            self.tr(
                "With pass-through, whenever the swap fails your real face goes out: to the virtual camera, "
                "to recordings, to everyone who watches."
            ),
            QMessageBox.StandardButton.Ok | QMessageBox.StandardButton.Cancel,
            QMessageBox.StandardButton.Cancel,
        )
        return answer == QMessageBox.StandardButton.Ok

    def _policies(self) -> list[tuple[GuardPolicy, str]]:
        return [
            (GuardPolicy.HOLD, self.tr("The last safe picture")),
            (GuardPolicy.BLUR, self.tr("The face, blurred")),
            (GuardPolicy.PIXELATE, self.tr("The face, pixelated")),
            (GuardPolicy.CARD, self.tr("A card")),
            (GuardPolicy.PASS, self.tr("My real face (pass-through)")),
        ]

    def _chosen(self, at: int) -> None:
        if self.config().policy is GuardPolicy.PASS and not self.confirm_pass_through():
            self.policy.setCurrentIndex(self._agreed)
            return
        self._agreed = at
        self._describe()
        self.changed.emit(self.config())

    def _describe(self) -> None:
        dangerous = self.config().policy is GuardPolicy.PASS
        self._hint.setText(
            self.tr("Your real face can be seen by everyone.")
            if dangerous
            else self.tr("Your real face is never shown, not for one frame.")
        )
        restyle(self._hint, "role", "warn" if dangerous else "muted")
