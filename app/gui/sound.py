"""Ties the panel "Voice" to the microphone and the monitor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.gui.bridge import Bridge
from app.gui.sound_panel import SoundPanel
from app.gui.switched_sink import SwitchedSink
from app.options import OFF, SoundConfig
from engine.errors import DeviceError

if TYPE_CHECKING:
    from engine.live.dispatch import Route
    from engine.live.stats import Stats
    from engine.sound.microphone import Microphone


class Sound(QObject):
    """Keeps one microphone for recorder and monitor, so that no device is opened twice."""

    def __init__(self, bridge: Bridge, panel: SoundPanel, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge, self._panel = bridge, panel
        self._name = OFF
        self._microphone: Microphone | None = None
        self._monitor = SwitchedSink(
            bridge, "monitor", self._make_monitor, panel.config().monitor != OFF, self
        )
        panel.monitor_switched.connect(self._monitor.switch)
        panel.changed.connect(self._monitor.renew)
        self._monitor.refused.connect(lambda: panel.set_monitor(False))

    def config(self) -> SoundConfig:
        """What is chosen."""
        return self._panel.config()

    def microphone(self) -> Microphone | None:
        """The one that is chosen."""
        from app.build import make_microphone

        name = self._panel.config().microphone
        if name != self._name:
            self._name, self._microphone = name, make_microphone(name)
        return self._microphone

    def show_stats(self, stats: Stats | None) -> None:
        """Tell how late the pictures are."""
        self._panel.set_late(0.0 if stats is None else stats.sound_delay_ms)

    def find_devices(self) -> None:
        """Look for microphones and outputs, and offer them."""
        self._bridge.look_up(_device_names, self._found)

    def _found(self, found: object) -> None:
        if isinstance(found, tuple):
            self._panel.set_devices(*found)
        elif isinstance(found, DeviceError):
            self._panel.set_devices([], [], str(found))

    def _make_monitor(self) -> Callable[[], Route]:
        microphone, device = self.microphone(), self._panel.config().monitor

        def make() -> Route:
            from app.build import make_monitor

            if microphone is None:
                raise DeviceError("No microphone is chosen", "Choose one")
            return make_monitor(microphone, device)

        return make


def _device_names() -> tuple[list[str], list[str]]:
    from engine.sound.devices import list_microphones, list_speakers

    return [one.name for one in list_microphones()], [one.name for one in list_speakers()]
