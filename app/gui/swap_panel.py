"""How far the swap goes, and what is shown when it fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QMessageBox, QSlider, QWidget

from app.gui.widgets import Card, label, labelled, restyle
from engine.config import GuardConfig, GuardPolicy, Setting, SwapConfig, Who, settings_of

_MESH = "mesh"


class SwapPanel(Card):
    """Emits `swapper_changed`, `strength_changed`, `who_changed` and `policy_changed` at once, also while
    the engine runs."""

    swapper_changed = Signal(str)

    strength_changed = Signal(float)
    who_changed = Signal(object)
    policy_changed = Signal(object)

    def __init__(self, swap: SwapConfig, guard: GuardConfig, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Swap"))
        self._swap = swap
        self.strength = QSlider(Qt.Orientation.Horizontal)
        self.strength.setRange(0, 100)
        self.strength.setPageStep(10)
        self.strength.setValue(round(swap.strength * 100))
        self.strength.setToolTip(_help(SwapConfig, "strength"))
        self._percent = label("", "muted")
        self._percent.setFixedWidth(36)
        self._percent.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row = labelled(self.tr("S&trength"), self.strength)
        row.addWidget(self._percent)

        self.swapper = QComboBox()
        self.swapper.setToolTip(
            self.tr("The built-in mesh needs no download. Others are added with: kawari models get NAME")
        )
        self.swapper.addItem(self.tr("Built-in mesh"), _MESH)
        if swap.swapper != _MESH:
            self.swapper.addItem(swap.swapper, swap.swapper)
            self.swapper.setCurrentIndex(1)

        self.who = QComboBox()
        for who, text in (
            (Who.LARGEST, self.tr("The largest face")),
            (Who.ALL, self.tr("Every face")),
        ):
            self.who.addItem(text, who)
        self.who.setCurrentIndex(max(self.who.findData(swap.who), 0))

        self.policy = QComboBox()
        self.policy.setToolTip(_help(GuardConfig, "policy"))
        for policy, text in self._policies():
            self.policy.addItem(text, policy)
        self.policy.setCurrentIndex(self.policy.findData(guard.policy))
        self._hint = label("", "muted", wrap=True)

        self.body.addLayout(labelled(self.tr("&With"), self.swapper))
        self.body.addLayout(row)
        self.body.addLayout(labelled(self.tr("S&wap"), self.who))
        self.body.addLayout(labelled(self.tr("If &lost, show"), self.policy))
        self.body.addWidget(self._hint)
        self.strength.valueChanged.connect(self._strength_moved)
        self.swapper.activated.connect(lambda: self.swapper_changed.emit(self.swapper.currentData()))
        self.who.activated.connect(lambda: self.who_changed.emit(self.who.currentData()))
        self.policy.activated.connect(self._policy_chosen)
        self._agreed = self.policy.currentIndex()
        self._strength_moved(self.strength.value())
        self._describe()

    def offer(self, swappers: Sequence[tuple[str, str]]) -> None:
        """Let the user choose among the mesh and these: name and title of each."""
        chosen = self.swapper.currentData()
        while self.swapper.count() > 1:
            self.swapper.removeItem(1)
        for name, title in swappers:
            self.swapper.addItem(title, name)
        if self.swapper.findData(chosen) < 0:
            self.swapper.addItem(chosen, chosen)  # Start will say what it lacks
        self.swapper.setCurrentIndex(self.swapper.findData(chosen))

    def swap_config(self) -> SwapConfig:
        """What is chosen."""
        swapper = self.swapper.currentData()
        strength = self.strength.value() / 100
        return replace(self._swap, swapper=swapper, strength=strength, who=self.who.currentData())

    def guard_policy(self) -> GuardPolicy:
        """What is shown instead of a face that could not be swapped."""
        chosen: GuardPolicy = self.policy.currentData()
        return chosen

    def set_policy(self, policy: GuardPolicy) -> None:
        """Choose what is shown instead, as if by hand."""
        self.policy.setCurrentIndex(self.policy.findData(policy))
        self._policy_chosen(self.policy.currentIndex())

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

    def _strength_moved(self, value: int) -> None:
        self._percent.setText(f"{value} %")
        self.strength_changed.emit(value / 100)

    def _policy_chosen(self, at: int) -> None:
        if self.guard_policy() is GuardPolicy.PASS and not self.confirm_pass_through():
            self.policy.setCurrentIndex(self._agreed)
            return
        self._agreed = at
        self._describe()
        self.policy_changed.emit(self.guard_policy())

    def _describe(self) -> None:
        dangerous = self.guard_policy() is GuardPolicy.PASS
        self._hint.setText(
            self.tr("Your real face can be seen by everyone.")
            if dangerous
            else self.tr("Your real face is never shown, not for one frame.")
        )
        restyle(self._hint, "role", "warn" if dangerous else "muted")


def _help(kind: type, name: str) -> str:
    found: Setting = next(one for one in settings_of(kind) if one.name == name)
    return found.help[:1].upper() + found.help[1:]
