"""The log: one line of JSON for each event, in a few files that never grow beyond a limit.

Pictures, paths and names never get in: only an event's kind and its `data` are written, and of texts
only plain words. There is nothing to send anywhere; the files are for the user and for bug reports.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
import re
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path

from engine.errors import DeviceError
from engine.events import Event

_WORDS = re.compile(r"[A-Za-z0-9_ -]{0,200}")


class JsonLog:
    """Writes events to a rotating file: `session.subscribe(JsonLog(path))`.

    Args:
        path: the newest file; older ones get .1, .2 … appended. Its folder must exist.
        size: bytes at which a new file is begun.
        kept: older files kept.

    Raises:
        DeviceError: the file can't be written.
    """

    def __init__(self, path: Path, *, size: int = 1_000_000, kept: int = 3) -> None:
        try:
            self._handler = _PrivateFiles(path, maxBytes=size, backupCount=kept, encoding="utf-8")
        except OSError as error:
            raise DeviceError(
                f"The log can't be written ({error.strerror})", "Free the disk or its rights"
            ) from error

    def __call__(self, event: Event) -> None:
        """Write one event."""
        line = json.dumps(
            {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "event": _plain(event.kind),
                **{key: _plain(value) for key, value in event.data.items()},
            }
        )
        self._handler.emit(logging.LogRecord("kawari", logging.INFO, "", 0, line, None, None))

    def close(self) -> None:
        """Close the file."""
        self._handler.close()


class _PrivateFiles(logging.handlers.RotatingFileHandler):
    """Files that only their owner can read."""

    def _open(self) -> TextIOWrapper:
        handle = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return os.fdopen(handle, "a", encoding="utf-8")


def _plain(value: str | int | float | bool) -> str | int | float | bool:
    """Numbers and plain words as they are; anything that might be a path or a name is left out."""
    return value if not isinstance(value, str) or _WORDS.fullmatch(value) else "(left out)"
