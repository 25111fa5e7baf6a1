"""The picture that left last, as a signed file."""

from __future__ import annotations

import tempfile
from pathlib import Path

from engine.errors import UsageError
from engine.sinks.browser import BrowserSink
from engine.sinks.picture import write_picture


def snapshot(browser: BrowserSink, swapper: str) -> bytes:
    """A PNG with the marks that every picture carries, and a signed manifest.

    Raises:
        UsageError: nothing leaves now.
    """
    from app.build import credentials

    picture = browser.picture
    if picture is None:
        raise UsageError("There is no picture now", "Start the stream first")
    with tempfile.TemporaryDirectory(prefix="kawari-") as folder:
        path = Path(folder) / "snapshot.png"
        write_picture(path, picture, credentials(swapper).attach)
        return path.read_bytes()
