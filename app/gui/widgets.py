"""Small building blocks that several panels use."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from engine.config import settings_of


class Card(QFrame):
    """A titled panel of the sidebar; `body` is where its contents go, `header` has room for buttons."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self._title = label("", "heading")
        self.header = QHBoxLayout()
        self.header.addWidget(self._title)
        self.header.addStretch(1)
        self._title.setMinimumHeight(26)
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(14, 12, 14, 14)
        self.body.setSpacing(9)
        self.body.addLayout(self.header)

    def set_title(self, title: str) -> None:
        """Name the panel, for the eye and for a screen reader."""
        self._title.setText(title)
        self.setAccessibleName(title)


def label(text: str, role: str = "", *, wrap: bool = False) -> QLabel:
    """A label in one of the style sheet's roles."""
    made = QLabel(text)
    made.setProperty("role", role)
    if wrap:
        made.setWordWrap(True)
        # A wrapping label must never make the sidebar wider than it is.
        made.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
    return made


def labelled(text: str, widget: QWidget) -> QHBoxLayout:
    """A row "text  [widget]" whose label's mnemonic leads to the widget."""
    row = QHBoxLayout()
    row.setSpacing(10)
    caption = label(text)
    caption.setBuddy(widget)
    caption.setMinimumWidth(86)
    widget.setAccessibleName(text.replace("&", ""))
    if isinstance(widget, QComboBox):
        let_shrink(widget)
    row.addWidget(caption)
    row.addWidget(widget, 1)
    return row


def let_shrink(box: QComboBox) -> None:
    """A long entry must not make the sidebar wider than it is."""
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(1)


def restyle(widget: QWidget, name: str, value: object) -> None:
    """Set a property that the style sheet selects by, and let it take effect."""
    if widget.property(name) == value:
        return
    widget.setProperty(name, value)
    widget.style().unpolish(widget)
    widget.style().polish(widget)
    widget.update()


def help_of(kind: type, name: str) -> str:
    """What the declaration of a setting says of it, as a sentence's beginning."""
    text = next(one for one in settings_of(kind) if one.name == name).help
    return text[:1].upper() + text[1:]
