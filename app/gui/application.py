"""Opening the window: Qt first, what is heavy after the window is on the screen."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app import screen
from app.console import write_json
from app.gui import theme
from app.gui.main_window import MainWindow
from app.gui.settings import Settings, default_path
from engine.identity.library import IdentityLibrary

_SIGNALS_MS = 200


@dataclass(frozen=True)
class Launch:
    """A window that starts by itself, with settings of its own that are not remembered.

    Attributes:
        settings: instead of the stored ones.
        seconds: close by itself after so long.
        record: record to this file.
        stats: write all figures to this file at the end.
    """

    settings: Settings
    seconds: float | None = None
    record: Path | None = None
    stats: Path | None = None


def open_window(launch: Launch | None = None) -> int:
    """Show the main window and run until it is closed; returns the exit code."""
    screen.forget_foreign_plugins()
    application = QApplication(sys.argv[:1])
    application.setApplicationName("kawari")
    application.setApplicationDisplayName("Kawari")
    application.setDesktopFileName("kawari")
    theme.apply(application)
    library = IdentityLibrary()
    if launch is None:
        window = MainWindow(library, path=default_path())
    else:
        window = MainWindow(library, settings=launch.settings)
        window.start_when_ready(launch.record)
        if launch.seconds is not None:
            QTimer.singleShot(round(launch.seconds * 1000), window.close)
    window.show()
    _close_on_signals(window)
    code = application.exec()
    if launch is not None and launch.stats is not None and window.final_stats is not None:
        write_json(launch.stats, window.final_stats.as_dict())
    return code


def _close_on_signals(window: MainWindow) -> None:
    """Ctrl-C and SIGTERM close the window as its own button does."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: window.close())
    # Python's handlers run between bytecodes, of which Qt's event loop executes none by itself.
    tick = QTimer(window)
    tick.timeout.connect(lambda: None)
    tick.start(_SIGNALS_MS)
