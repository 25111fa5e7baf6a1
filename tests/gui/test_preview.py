"""The preview draws what it is given, unchanged, and the real face only when asked to."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from app.gui.preview import Preview, as_qimage
from engine.types import Frame, Output, Shown

pytestmark = pytest.mark.gui

RED, GREEN = (0, 0, 200), (0, 180, 0)


def output(shown: Shown = Shown.SWAPPED, width: int = 320, height: int = 180) -> Output:
    """The input is red, the output green."""
    before, after = (np.full((height, width, 3), colour, np.uint8) for colour in (RED, GREEN))
    return Output(Frame(0, 0, before), after, shown=shown)


@pytest.fixture
def preview(qtbot: QtBot) -> Preview:
    made = Preview()
    made.resize(640, 480)
    qtbot.addWidget(made)
    made.show()
    return made


def colour_at(preview: Preview, x: float, y: float) -> QColor:
    """What is drawn at a place of the picture, 0..1."""
    rect = preview.picture_rect()
    image = preview.grab().toImage()
    ratio = image.devicePixelRatio()
    left, top = rect.left() + x * rect.width(), rect.top() + y * rect.height()
    return image.pixelColor(round(left * ratio), round(top * ratio))


def is_red(colour: QColor) -> bool:
    return colour.red() > colour.green() + 80


def is_green(colour: QColor) -> bool:
    return colour.green() > colour.red() + 80


def test_pictures_are_not_copied_and_their_colours_are_right() -> None:
    image = np.zeros((4, 5, 3), np.uint8)
    image[1, 2] = (10, 20, 30)
    view = as_qimage(image)
    assert view.pixelColor(2, 1).getRgb()[:3] == (30, 20, 10)
    image[1, 2] = (40, 50, 60)
    assert view.pixelColor(2, 1).getRgb()[:3] == (60, 50, 40)


def test_the_picture_fits_and_keeps_its_shape(preview: Preview) -> None:
    preview.show_output(output())
    rect = preview.picture_rect()
    assert (rect.width(), rect.height()) == (640, 360)
    assert rect.center().y() == pytest.approx(240, abs=1)
    preview.show_output(output(width=90, height=160))
    assert preview.picture_rect().height() == 480


def test_only_the_output_is_shown(preview: Preview) -> None:
    preview.show_output(output())
    for x in (0.02, 0.25, 0.5, 0.98):
        assert is_green(colour_at(preview, x, 0.3))


def test_the_comparison_shows_the_input_left_of_the_line(preview: Preview, qtbot: QtBot) -> None:
    preview.show_output(output())
    preview.set_comparing(True)
    assert is_red(colour_at(preview, 0.25, 0.3))
    assert is_green(colour_at(preview, 0.75, 0.3))
    rect = preview.picture_rect()
    qtbot.mousePress(preview, Qt.MouseButton.LeftButton, pos=QPoint(rect.left() + rect.width() // 10, 240))
    assert is_green(colour_at(preview, 0.25, 0.3))
    preview.set_comparing(False)
    assert is_green(colour_at(preview, 0.02, 0.3))


def test_the_line_follows_the_arrow_keys(preview: Preview, qtbot: QtBot) -> None:
    preview.set_comparing(True)
    with qtbot.waitSignal(preview.split_moved) as moved:
        qtbot.keyClick(preview, Qt.Key.Key_Right)
    assert moved.args == [pytest.approx(0.52)]


def test_pass_through_has_a_red_frame(preview: Preview) -> None:
    preview.show_output(output(Shown.PASSED))
    assert is_red(colour_at(preview, 0.5, 0.0))
    preview.show_output(output(Shown.SWAPPED))
    assert is_green(colour_at(preview, 0.5, 0.01))


def test_without_a_picture_there_is_a_hint(preview: Preview) -> None:
    preview.set_hint("Press Start")
    preview.show_output(output())
    preview.show_output(None)
    assert preview.output is None
    assert not is_green(colour_at(preview, 0.5, 0.3))


@pytest.mark.parametrize("size", [(1, 1), (5000, 3), (3, 5000)])
def test_odd_pictures(preview: Preview, size: tuple[int, int]) -> None:
    preview.show_output(output(width=size[0], height=size[1]))
    preview.set_comparing(True)
    preview.grab()
