"""By keyboard and screen reader: everything has a name, keys are unique, Tab goes in order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QScrollBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.gui.main_window import MainWindow
from app.gui.settings import Settings
from app.options import CameraConfig
from engine.identity.library import IdentityLibrary

pytestmark = [pytest.mark.gui, pytest.mark.timeout(300)]
TABS = range(5)
CONTROLS = (
    QAbstractButton, QComboBox, QLineEdit, QAbstractSlider, QAbstractSpinBox, QAbstractItemView,
)  # fmt: skip


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> Iterator[MainWindow]:
    made = MainWindow(
        IdentityLibrary(tmp_path / "identities"), settings=Settings(camera=CameraConfig("demo"))
    )
    made.show()
    qtbot.waitUntil(lambda: bool(made.sources.photos), timeout=60_000)
    yield made
    made.close()


def controls(window: MainWindow) -> list[QWidget]:
    """Everything that takes input now, without the parts that Qt builds others of."""
    return [
        widget
        for widget in window.findChildren(QWidget)
        if isinstance(widget, CONTROLS)
        and widget.isVisible()
        and not isinstance(widget, QScrollBar)
        and not isinstance(widget.parent(), QComboBox | QAbstractSpinBox)
        and not widget.objectName().startswith("qt_")
    ]


def on_each_tab(window: MainWindow) -> Iterator[str]:
    for tab in TABS:
        window.sidebar.setCurrentIndex(tab)
        yield window.sidebar.tabText(tab)


def test_everything_has_a_name(window: MainWindow) -> None:
    nameless = [
        f"{type(widget).__name__} of {type(widget.parent()).__name__} on {tab}"
        for tab in on_each_tab(window)
        for widget in controls(window)
        if not widget.accessibleName()
        and not (isinstance(widget, QAbstractButton) and re.search(r"\w\w", widget.text()))
    ]
    assert nameless == []


def test_no_key_means_two_things(window: MainWindow) -> None:
    twice = []
    for tab in on_each_tab(window):
        texts = ["S&top"]  # what Start turns into
        texts += [one.text() for one in window.findChildren(QAbstractButton) if one.isVisible()]
        texts += [one.text() for one in window.findChildren(QLabel) if one.isVisible() and one.buddy()]
        keys = Counter(match[1].lower() for text in texts if (match := re.search(r"&(\w)", text)))
        twice += [f"{key} on {tab}" for key, times in keys.items() if times > 1]
    assert twice == []


def test_tab_goes_through_everything_from_top_to_bottom(window: MainWindow, qtbot: QtBot) -> None:
    for tab in on_each_tab(window):
        window.activateWindow()
        window.controls.start.setFocus()
        visited: list[QWidget] = []
        for _ in range(60):
            qtbot.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Tab)
            focus = QApplication.focusWidget()
            if focus is None or focus in visited:
                break
            visited.append(focus)
        reachable = [
            widget
            for widget in controls(window)
            if widget.isEnabled() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
            if not (isinstance(widget, QAbstractItemView) and widget.model().rowCount() == 0)
        ]
        assert [type(widget).__name__ for widget in reachable if widget not in visited] == [], tab
        page = window.sidebar.currentWidget()
        tops = [w.mapTo(window, QPoint(0, w.height() // 2)).y() for w in visited if page.isAncestorOf(w)]
        # A row may hold several; a step up by more than a row would be a leap.
        assert all(later >= earlier - 20 for earlier, later in pairwise(tops)), tab


def test_the_tabs_have_keys(window: MainWindow, qtbot: QtBot) -> None:
    for tab in reversed(TABS):
        qtbot.keyClick(window, str(tab + 1), Qt.KeyboardModifier.ControlModifier)
        assert window.sidebar.currentIndex() == tab
