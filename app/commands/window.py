"""`kawari`: the window."""

from __future__ import annotations

import argparse

from app import screen


def execute(_args: argparse.Namespace) -> int:
    """Open the window; returns when it was closed."""
    screen.require()
    from app.gui.application import open_window

    return open_window()
