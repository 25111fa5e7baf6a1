"""Which faces are swapped, how, and how far the swap goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QSlider, QWidget

from app.gui.widgets import Card, help_of, label, labelled, restyle
from engine.config import SwapConfig, Who

_MESH = "mesh"


class SwapPanel(Card):
    """Emits `swapper_changed`, `strength_changed` and `who_changed` at once, also while the engine runs."""

    swapper_changed = Signal(str)
    strength_changed = Signal(float)
    who_changed = Signal(object)

    def __init__(self, swap: SwapConfig, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Swap"))
        self._swap = swap
        self.strength = QSlider(Qt.Orientation.Horizontal)
        self.strength.setRange(0, 100)
        self.strength.setPageStep(10)
        self.strength.setValue(round(swap.strength * 100))
        self.strength.setToolTip(help_of(SwapConfig, "strength"))
        self._percent = label("", "muted")
        self._percent.setFixedWidth(36)
        self._percent.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row = labelled(self.tr("Strengt&h"), self.strength)
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
            (Who.CHOSEN, self.tr("Only who I click")),
        ):
            self.who.addItem(text, who)
        self.who.setCurrentIndex(max(self.who.findData(swap.who), 0))

        self.body.addLayout(labelled(self.tr("W&ith"), self.swapper))
        self.body.addLayout(row)
        self.body.addLayout(labelled(self.tr("S&wap"), self.who))
        self._whom = label("", "muted", wrap=True)
        self._whom.hide()
        self.body.addWidget(self._whom)
        self.strength.valueChanged.connect(self._strength_moved)
        self.swapper.activated.connect(lambda: self.swapper_changed.emit(self.swapper.currentData()))
        self.who.activated.connect(lambda: self.who_changed.emit(self.who.currentData()))
        self._strength_moved(self.strength.value())

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

    def show_wanted(self, who: Who, chosen: int, *, choosing: bool) -> None:
        """Show who is swapped, without asking for it.

        Args:
            who: see `Who`.
            chosen: so many persons were chosen.
            choosing: none was yet, although some are to be.
        """
        self.who.setCurrentIndex(self.who.findData(who))
        self._whom.setVisible(who is Who.CHOSEN)
        swapped = self.tr("One person is") if chosen == 1 else self.tr("%d people are") % chosen
        self._whom.setText(
            self.tr("Click a face in the picture. Until then everybody is swapped.")
            if choosing
            else self.tr("%s swapped. Everybody else is shown as they are.") % swapped
        )
        restyle(self._whom, "role", "muted" if choosing else "warn")

    def swap_config(self) -> SwapConfig:
        """What is chosen."""
        swapper = self.swapper.currentData()
        strength = self.strength.value() / 100
        return replace(self._swap, swapper=swapper, strength=strength, who=self.who.currentData())

    def _strength_moved(self, value: int) -> None:
        self._percent.setText(f"{value} %")
        self.strength_changed.emit(value / 100)
