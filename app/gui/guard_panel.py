"""What is shown instead of a face that could not be swapped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QFileDialog, QMessageBox, QWidget

from app.gui.widgets import Card, help_of, label, labelled, restyle
from app.options import check_guard
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
        self.policy.activated.connect(lambda: self._chosen())
        self._agreed = self.policy.currentIndex()
        self._describe()

    def config(self) -> GuardConfig:
        """What is chosen."""
        chosen: GuardPolicy = self.policy.currentData()
        return replace(self._guard, policy=chosen)

    def set_policy(self, policy: GuardPolicy) -> None:
        """Choose what is shown instead, as if by hand; the picture is the one chosen before.

        Raises:
            UsageError: there is no picture to show.
        """
        check_guard(replace(self._guard, policy=policy))
        self.policy.setCurrentIndex(self.policy.findData(policy))
        if policy is GuardPolicy.PICTURE:
            self._accept()
        else:
            self._chosen()

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

    def choose_picture(self) -> str:
        """Ask for the picture to show; "" if none was chosen."""
        path, _ = QFileDialog.getOpenFileName(self, self.tr("A picture to show instead of a face"))
        return path

    def _policies(self) -> list[tuple[GuardPolicy, str]]:
        return [
            (GuardPolicy.HOLD, self.tr("The last safe picture")),
            (GuardPolicy.BLUR, self.tr("The face, blurred")),
            (GuardPolicy.PIXELATE, self.tr("The face, pixelated")),
            (GuardPolicy.PICTURE, self.tr("A picture of mine…")),
            (GuardPolicy.CARD, self.tr("A card")),
            (GuardPolicy.PASS, self.tr("My real face (pass-through)")),
        ]

    def _chosen(self) -> None:
        policy = self.config().policy
        if policy is GuardPolicy.PASS and not self.confirm_pass_through():
            self.policy.setCurrentIndex(self._agreed)
            return
        if policy is GuardPolicy.PICTURE:
            path = self.choose_picture() or self._guard.picture
            if not path:
                self.policy.setCurrentIndex(self._agreed)
                return
            self._guard = replace(self._guard, picture=path)
        self._accept()

    def _accept(self) -> None:
        self._agreed = self.policy.currentIndex()
        self._describe()
        self.changed.emit(self.config())

    def _describe(self) -> None:
        guard = self.config()
        dangerous = guard.policy is GuardPolicy.PASS
        text = self.tr("Your real face is never shown, not for one frame.")
        if dangerous:
            text = self.tr("Your real face can be seen by everyone.")
        elif guard.policy is GuardPolicy.PICTURE:
            text = self.tr("Shows {}; another picture from the next start on.").format(
                Path(guard.picture).name
            )
        self._hint.setText(text)
        restyle(self._hint, "role", "warn" if dangerous else "muted")
