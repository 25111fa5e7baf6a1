"""An output that gets pictures while its box is ticked and a session runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.gui.bridge import Bridge

if TYPE_CHECKING:
    from engine.live.dispatch import Route
    from engine.sinks.base import Sink

    MakeSink = Callable[[], Route | Sink]


class SwitchedSink(QObject):
    """Keeps one sink in step with its switch.

    Args:
        name: the sink's name.
        make: called on the GUI thread; gives what makes the sink, on the engine's.
        wanted: the switch's first state.
    """

    refused = Signal()
    """It can't be opened, and is wanted no longer; the bridge's `failed` says why."""

    def __init__(
        self,
        bridge: Bridge,
        name: str,
        make: Callable[[], Callable[[], Route | Sink]],
        wanted: bool,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._bridge, self._name, self._make, self._wanted = bridge, name, make, wanted
        self._sink: Sink | None = None
        bridge.started.connect(self._started)
        bridge.ended.connect(self._ended)
        bridge.sink_added.connect(self._added)
        bridge.sink_gone.connect(self._gone)
        bridge.sink_refused.connect(self._refused)

    def switch(self, on: bool) -> None:
        """Feed it or close it; while nothing runs, for the next session."""
        self._wanted = on
        if on:
            self._add()
        else:
            self._remove()

    def renew(self) -> None:
        """Close it and open it anew, with other settings."""
        if self._wanted and self._sink is not None:
            self._remove()
            self._add()

    def _add(self) -> None:
        self._bridge.add_sink(self._make(), self._name)

    def _remove(self) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            self._bridge.remove_sink(sink)

    def _started(self) -> None:
        if self._wanted:
            self._add()

    def _ended(self) -> None:
        self._sink = None

    def _added(self, sink: Sink) -> None:
        if sink.name != self._name:
            return
        if self._wanted:
            self._sink = sink
        else:  # switched off meanwhile
            self._bridge.remove_sink(sink)

    def _gone(self, sink: Sink) -> None:
        if sink is self._sink:
            self._sink = None

    def _refused(self, name: str) -> None:
        if name == self._name:
            self._wanted = False
            self.refused.emit()
