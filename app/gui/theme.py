"""The look: dark or light colours, one style sheet, our own icons drawn in the colour they need."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QApplication

_ICON, _GAP = 18, 6
_LOOK, _DRAWN = "kawari-look", "kawari-icon"
"""Properties: of the application, which look it has; of a button, name and colour of its icon."""
RESOURCES = Path(str(files("resources")))

DARK = {
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
LIGHT = {
    "background": "#f1f3f8",
    "stage": "#e3e6ee",
    "surface": "#ffffff",
    "raised": "#edeff5",
    "hover": "#e2e5ee",
    "line": "#c9cedb",
    "text": "#1a1d26",
    "muted": "#545b6b",
    "faint": "#8d94a4",
    "accent": "#4353d0",
    "accent_bright": "#3341b4",
    "accent_faint": "#e4e7ff",
    "on_accent": "#ffffff",
    "good": "#146c40",
    "good_faint": "#d9f2e4",
    "warn": "#825300",
    "warn_panel": "#fff1d2",
    "danger": "#bf2531",
    "danger_faint": "#fde6e7",
    "danger_panel": "#fde6e7",
}


def apply(application: QApplication) -> None:
    """Give the whole application Kawari's look, dark or light as the system is, and follow the system."""
    application.setStyle("Fusion")
    application.setWindowIcon(icon("kawari", None))
    hints = application.styleHints()
    _dress(application, hints.colorScheme())
    hints.colorSchemeChanged.connect(lambda scheme: _dress(application, scheme))


def _dress(application: QApplication, scheme: Qt.ColorScheme) -> None:
    colours = LIGHT if scheme is Qt.ColorScheme.Light else DARK
    if application.property(_LOOK) == colours["background"]:
        return
    application.setProperty(_LOOK, colours["background"])
    application.setPalette(_palette())
    application.setStyleSheet(_style_sheet())
    for widget in application.allWidgets():
        if isinstance(widget, QAbstractButton) and (drawn := widget.property(_DRAWN)):
            _draw(widget, *drawn)


def is_light() -> bool:
    """Which of the two looks the application has."""
    application = QApplication.instance()
    return application is not None and application.property(_LOOK) == LIGHT["background"]


def colour(name: str) -> QColor:
    """A colour of the theme, for what is painted by hand."""
    return QColor(_colours()[name])


def _colours() -> dict[str, str]:
    return LIGHT if is_light() else DARK


def set_button_icon(button: QAbstractButton, name: str, tint: str = "text") -> None:
    """Give a button an icon in a colour of the theme; it keeps its distance from the text if there is one."""
    button.setProperty(_DRAWN, [name, tint])
    _draw(button, name, tint)


def _draw(button: QAbstractButton, name: str, tint: str) -> None:
    gap = _GAP if button.text() else 0
    button.setIcon(_spaced(name, tint, gap, light=is_light()))
    button.setIconSize(QSize(_ICON + gap, _ICON))


@cache
def _spaced(name: str, tint: str, gap: int, *, light: bool) -> QIcon:
    made, colours = QIcon(), LIGHT if light else DARK
    for mode, colour_name in ((QIcon.Mode.Normal, tint), (QIcon.Mode.Disabled, "faint")):
        scale = 4
        pixmap = QPixmap((_ICON + gap) * scale, _ICON * scale)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.drawPixmap(0, 0, _render(name, colours[colour_name], _ICON * scale))
        painter.end()
        made.addPixmap(pixmap, mode)
    return made


def icon(name: str, tint: str | None = "text") -> QIcon:
    """An icon of `resources/icons`, its `currentColor` replaced by the theme's colour `tint`."""
    colours = _colours()
    made = QIcon()
    made.addPixmap(_render(name, colours[tint] if tint else None))
    if tint is not None:
        made.addPixmap(_render(name, colours["faint"]), QIcon.Mode.Disabled)
    return made


@cache
def _render(name: str, tint: str | None, size: int = 96) -> QPixmap:
    svg = (RESOURCES / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    if tint is not None:
        svg = svg.replace("currentColor", tint)
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
    colours = _colours()
    sheet = (RESOURCES / "styles" / "kawari.qss").read_text(encoding="utf-8")
    sheet = sheet.replace("@icons", (RESOURCES / "icons").as_posix())
    sheet = sheet.replace("@look", "light" if is_light() else "dark")
    for name in sorted(colours, key=len, reverse=True):  # `accent_faint` before `accent`
        sheet = sheet.replace(f"@{name}", colours[name])
    return sheet
