"""Opening the window: Qt first, everything heavy after the window is on the screen."""

from __future__ import annotations


def open_window() -> int:
    """Show the main window and run until it is closed; returns the exit code."""
    raise NotImplementedError
