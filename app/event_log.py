"""The log of the user's own sessions, in Kawari's folder."""

from __future__ import annotations

import contextlib

from engine.errors import DeviceError
from engine.events import Event
from engine.folders import home, private_folder
from engine.log import JsonLog


class EventLog:
    """Writes a session's events to `logs/kawari.jsonl`; subscribe it.

    The file is opened by the first event and closed by the last. A log that can't be written is no
    reason to stop a stream: then there is none.
    """

    def __init__(self) -> None:
        self._log: JsonLog | None = None
        self._tried = False

    def __call__(self, event: Event) -> None:
        """Write one event."""
        if not self._tried:
            self._tried = True
            with contextlib.suppress(OSError, DeviceError):
                self._log = JsonLog(private_folder(home() / "logs") / "kawari.jsonl")
        if self._log is None:
            return
        self._log(event)
        if event.kind == "state" and event.data.get("state") == "finished":
            self._log.close()
            self._log = None
