"""A tidy table of captions and values."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app.gui.widgets import label, restyle

Fact = tuple[str, str] | tuple[str, str, str]
"""Caption, value, and its role in the style sheet if not the usual one."""


_CAPTION = 76
"""Pixels; so that the values of several tables stand below each other."""


class Facts(QWidget):
    """Rows "caption  value"; rows are kept and only their text changes, so that showing is cheap."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(5)
        self._grid.setColumnStretch(1, 1)
        self._rows: list[tuple[QLabel, QLabel]] = []

    def show_facts(self, facts: Iterable[Fact]) -> None:
        """Show these and no others."""
        facts = list(facts)
        while len(self._rows) < len(facts):
            self._add_row()
        for at, (caption, value) in enumerate(self._rows):
            shown = at < len(facts)
            caption.setVisible(shown)
            value.setVisible(shown)
            if shown:
                text, *rest = facts[at]
                caption.setText(text)
                value.setText(rest[0])
                value.setAccessibleName(f"{text}: {rest[0]}")
                restyle(value, "role", rest[1] if len(rest) > 1 else "fact")

    def facts(self) -> dict[str, str]:
        """What is shown now."""
        return {caption.text(): value.text() for caption, value in self._rows if not caption.isHidden()}

    def _add_row(self) -> None:
        caption, value = label("", "muted"), label("", "fact", wrap=True)
        caption.setMinimumWidth(_CAPTION)
        caption.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        at = len(self._rows)
        self._grid.addWidget(caption, at, 0)
        self._grid.addWidget(value, at, 1)
        self._rows.append((caption, value))
