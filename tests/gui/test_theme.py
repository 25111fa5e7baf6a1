"""Dark and light: both can be read, and what is on the screen changes over with the system."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QToolButton
from pytestqt.qtbot import QtBot

from app.gui import theme
from app.gui.preview import Preview

pytestmark = pytest.mark.gui


@pytest.fixture(autouse=True)
def dark_again(qapp: QApplication) -> Iterator[None]:
    yield
    theme._dress(qapp, Qt.ColorScheme.Dark)


def luminance(name: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""

    def linear(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(value) for value in QColor(name).getRgbF()[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colours", [theme.DARK, theme.LIGHT], ids=["dark", "light"])
@pytest.mark.parametrize(
    ("ink", "ground"),
    [
        *((ink, ground) for ink in ("text", "muted") for ground in ("background", "surface", "raised")),
        *((ink, "surface") for ink in ("good", "warn", "danger", "accent")),
        ("muted", "stage"), ("text", "hover"), ("text", "accent_faint"), ("text", "warn_panel"),
        ("text", "danger_panel"), ("good", "good_faint"), ("warn", "warn_panel"),
        ("on_accent", "accent"), ("on_accent", "accent_bright"), ("background", "danger"),
    ],
)  # fmt: skip
def test_words_can_be_read(colours: dict[str, str], ink: str, ground: str) -> None:
    """WCAG 2.2, 1.4.3: a contrast of 4.5 to 1 at least."""
    one, other = sorted((luminance(colours[ink]), luminance(colours[ground])))
    assert (other + 0.05) / (one + 0.05) >= 4.5


def test_both_looks_have_the_same_colours() -> None:
    assert theme.DARK.keys() == theme.LIGHT.keys()


def test_what_is_shown_changes_over(qapp: QApplication, qtbot: QtBot) -> None:
    button, preview = QToolButton(), Preview()
    for widget in (button, preview):
        qtbot.addWidget(widget)
    theme.set_button_icon(button, "trash", "muted")
    theme._dress(qapp, Qt.ColorScheme.Dark)
    before = button.icon().pixmap(18, 18).toImage(), preview.grab().toImage()
    theme._dress(qapp, Qt.ColorScheme.Light)
    assert theme.is_light()
    assert qapp.palette().window().color().name() == theme.LIGHT["background"]
    after = button.icon().pixmap(18, 18).toImage(), preview.grab().toImage()
    assert after[0] != before[0]
    assert after[1] != before[1]
    assert "@" not in qapp.styleSheet()
    theme._dress(qapp, Qt.ColorScheme.Unknown)  # a system that does not say
    assert not theme.is_light()
    assert button.icon().pixmap(18, 18).toImage() == before[0]
