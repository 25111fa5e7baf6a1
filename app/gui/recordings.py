"""Recordings and snapshots of what leaves, from the panel "Recording"."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QDateTime, QObject, QStandardPaths, Signal

from app.gui.bridge import Bridge
from app.gui.record_panel import RecordPanel
from app.gui.sound import Sound
from app.options import OutputConfig
from app.server.desk import Recording, the_recorder

if TYPE_CHECKING:
    from engine.events import Event
    from engine.live.dispatch import Route
    from engine.sinks.base import Sink
    from engine.sinks.recorder import Recorder
    from engine.types import Image

_NAME = "recorder"
_FINISHING_S = 600.0
"""Signing a recording of an hour takes some seconds; a disk that hangs must not hold the window for ever."""


class Recordings(QObject):
    """Keeps the panel in step with the recorder.

    Args:
        config: where recordings go, and how.
        sound: the voice in them.
        swapper: gives the name of the swapper that is used.
        picture: gives the picture that left last; None while none did.
    """

    failed = Signal(object)
    warned = Signal(str)
    saved = Signal(str)
    """A recording or a snapshot is complete: its path."""
    _told = Signal(str)
    """A recorder's warning, from its own thread."""

    def __init__(
        self,
        bridge: Bridge,
        panel: RecordPanel,
        config: OutputConfig,
        sound: Sound,
        swapper: Callable[[], str],
        picture: Callable[[], Image | None],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._bridge, self._panel, self._config, self._sound = bridge, panel, config, sound
        self._swapper, self._picture = swapper, picture
        self._recorder: Recorder | None = None
        self._path: Path | None = None
        panel.record_switched.connect(self._switch)
        panel.pause_switched.connect(self.pause)
        panel.snapshot_wanted.connect(self._snapshot)
        bridge.ended.connect(self._ended)
        bridge.happened.connect(self._happened)
        bridge.sink_added.connect(self._added)
        bridge.sink_gone.connect(self._gone)
        bridge.sink_refused.connect(self._refused)
        self._told.connect(self._warn)

    @property
    def state(self) -> Recording:
        """What the recorder is doing."""
        return "off" if self._recorder is None else "paused" if self._recorder.paused else "on"

    def record(self, path: Path) -> None:
        """Record to this file from now on."""
        self._path = path
        swapper, sound, microphone = self._swapper(), self._sound.config(), self._sound.microphone()

        def make() -> Route:
            from app.build import make_recorder

            return make_recorder(path, swapper, self._config, sound, microphone, self._told.emit)

        self._bridge.add_sink(make, _NAME)

    def pause(self, on: bool) -> None:
        """Leave out what comes from now on, or go on. Raises `UsageError` if nothing is recorded."""
        the_recorder(self._recorder).pause(on)
        self._panel.set_paused(on)

    def split(self) -> None:
        """Go on in a new file. Raises `UsageError` if nothing is recorded."""
        the_recorder(self._recorder).split()

    def wait(self) -> None:
        """Wait until the recording that was made when everything stopped is finished and signed."""
        if self._recorder is not None:
            self._recorder.wait(_FINISHING_S)

    def _switch(self, on: bool) -> None:
        if on:
            self.record(self._new_file(".mp4"))
        elif self._recorder is not None:
            self._bridge.remove_sink(self._recorder)

    def _snapshot(self) -> None:
        image, swapper, path = self._picture(), self._swapper(), self._new_file(".png")
        if image is None:
            return

        def save() -> Path:
            from app.build import credentials
            from engine.sinks.picture import write_picture

            write_picture(path, image, credentials(swapper).attach)
            return path

        self._bridge.look_up(save, self._snapshot_saved)

    def _snapshot_saved(self, result: object) -> None:
        if isinstance(result, Path):
            self.saved.emit(str(result))
        else:
            self.failed.emit(result)

    def _new_file(self, suffix: str) -> Path:
        movies = QStandardPaths.StandardLocation.MoviesLocation
        folder = Path(self._config.recordings or QStandardPaths.writableLocation(movies))
        return folder / f"Kawari {QDateTime.currentDateTime().toString('yyyy-MM-dd HH-mm-ss')}{suffix}"

    # what the engine says

    def _added(self, sink: Sink) -> None:
        if sink.name == _NAME:
            self._recorder = cast("Recorder", sink)
            self._panel.set_recording(True)

    def _gone(self, sink: Sink) -> None:
        if sink is self._recorder:
            self._recorder = None
            self._panel.set_recording(False)
            self.saved.emit(str(self._path))

    def _refused(self, name: str) -> None:
        if name == _NAME:
            self._panel.set_recording(False)

    def _ended(self) -> None:
        if self._recorder is not None:
            self._gone(self._recorder)

    def _happened(self, event: Event) -> None:
        if event.kind == "sink-failed" and event.data.get("sink") == _NAME and self._recorder is not None:
            self._bridge.remove_sink(self._recorder)

    def _warn(self, sentence: str) -> None:
        self.warned.emit(sentence)
