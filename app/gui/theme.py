"""The look: one set of colours, one style sheet, our own icons drawn in the colour they need."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QApplication

_ICON, _GAP = 18, 6
RESOURCES = Path(str(files("resources")))

COLOURS = {
    "background": "#13151b",
    "stage": "#0d0f13",
    "surface": "#1b1e26",
    "raised": "#252934",
    "hover": "#2e3340",
    "line": "#343a48",
    "text": "#e9ebf1",
    "muted": "#a0a8b8",
    "faint": "#697184",
    "accent": "#8b9bff",
    "accent_bright": "#a8b4ff",
    "accent_faint": "#272c47",
    "on_accent": "#10131c",
    "good": "#5fd39a",
    "good_faint": "#1b3329",
    "warn": "#f2bd5c",
    "warn_panel": "#362c19",
    "danger": "#ff6b6b",
    "danger_faint": "#3a2126",
    "danger_panel": "#3a2126",
}


def apply(application: QApplication) -> None:
    """Give the whole application Kawari's look."""
    application.setStyle("Fusion")
    application.setPalette(_palette())
    application.setStyleSheet(_style_sheet())
    application.setWindowIcon(icon("kawari", None))


def colour(name: str) -> QColor:
    """A colour of the theme, for what is painted by hand."""
    return QColor(COLOURS[name])


def set_button_icon(button: QAbstractButton, name: str, tint: str = "text") -> None:
    """Give a button with text an icon that keeps its distance from the text."""
    button.setIcon(_spaced(name, tint))
    button.setIconSize(QSize(_ICON + _GAP, _ICON))


@cache
def _spaced(name: str, tint: str) -> QIcon:
    made = QIcon()
    for mode, colour_name in ((QIcon.Mode.Normal, tint), (QIcon.Mode.Disabled, "faint")):
        scale = 4
        pixmap = QPixmap((_ICON + _GAP) * scale, _ICON * scale)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.drawPixmap(0, 0, _render(name, colour_name, _ICON * scale))
        painter.end()
        made.addPixmap(pixmap, mode)
    return made


@cache
def icon(name: str, tint: str | None = "text") -> QIcon:
    """An icon of `resources/icons`, its `currentColor` replaced by the theme's colour `tint`."""
    made = QIcon()
    made.addPixmap(_render(name, tint))
    if tint is not None:
        made.addPixmap(_render(name, "faint"), QIcon.Mode.Disabled)
    return made


def _render(name: str, tint: str | None, size: int = 96) -> QPixmap:
    svg = (RESOURCES / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    if tint is not None:
        svg = svg.replace("currentColor", COLOURS[tint])
    # Rendered larger than shown: Qt only ever scales it down, so it is sharp on every screen.
    pixmap = QPixmap(QSize(size, size))
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(svg.encode())).render(painter)
    painter.end()
    return pixmap


def _palette() -> QPalette:
    roles = {
        QPalette.ColorRole.Window: "background",
        QPalette.ColorRole.Base: "surface",
        QPalette.ColorRole.AlternateBase: "raised",
        QPalette.ColorRole.Button: "raised",
        QPalette.ColorRole.WindowText: "text",
        QPalette.ColorRole.Text: "text",
        QPalette.ColorRole.ButtonText: "text",
        QPalette.ColorRole.ToolTipBase: "raised",
        QPalette.ColorRole.ToolTipText: "text",
        QPalette.ColorRole.PlaceholderText: "faint",
        QPalette.ColorRole.Highlight: "accent",
        QPalette.ColorRole.HighlightedText: "on_accent",
        QPalette.ColorRole.Link: "accent",
    }
    palette = QPalette()
    for role, name in roles.items():
        palette.setColor(role, colour(name))
    return palette


def _style_sheet() -> str:
    sheet = (RESOURCES / "styles" / "dark.qss").read_text(encoding="utf-8")
    sheet = sheet.replace("@icons", (RESOURCES / "icons").as_posix())
    for name in sorted(COLOURS, key=len, reverse=True):  # `accent_faint` before `accent`
        sheet = sheet.replace(f"@{name}", COLOURS[name])
    return sheet
