"""Where the pictures go besides the window: virtual camera, VMC, browser page; and OSC commands in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.gui.bridge import Bridge
from app.gui.browser_page import BrowserPage
from app.gui.desk import WindowDesk
from app.gui.osc_in import OscIn
from app.gui.sidebar import Sidebar
from app.gui.switched_sink import SwitchedSink
from app.options import OutputConfig
from engine.devices import VirtualCameraDevice

if TYPE_CHECKING:
    from engine.live.dispatch import Route


class Outputs(QObject):
    """Ties the panels of the tab "Outputs" to what they switch, all but the recording.

    Args:
        config: what was on the last time.
        desk: the window as it is controlled from outside.
    """

    failed = Signal(object)

    def __init__(
        self, bridge: Bridge, panels: Sidebar, desk: WindowDesk, config: OutputConfig, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._panels, self._desk, self._config = panels, desk, config
        self.page = BrowserPage(bridge, panels.page, desk, config.server_port, self)
        self.osc = OscIn(bridge, panels.vtuber, desk, self)
        self._camera = SwitchedSink(
            bridge, "virtual camera", self._make_virtual_camera, config.virtual_camera, self
        )
        self._vmc = SwitchedSink(bridge, "vmc", self._make_vmc, config.vmc, self)
        self.page.failed.connect(self.failed)
        self.osc.failed.connect(self.failed)
        camera, vtuber = panels.virtual_camera, panels.vtuber
        camera.switched.connect(self._camera.switch)
        camera.changed.connect(self._camera.renew)
        self._camera.refused.connect(lambda: camera.set_on(False))
        vtuber.vmc_switched.connect(self._vmc.switch)
        vtuber.vmc_changed.connect(self._vmc.renew)
        self._vmc.refused.connect(lambda: vtuber.set_vmc(False))

    def config(self) -> OutputConfig:
        """What the panels say now."""
        panels = self._panels
        config = panels.vtuber.config(panels.virtual_camera.config(self._config))
        return replace(config, browser=panels.page.browser.isChecked())

    def restore(self) -> None:
        """Serve and listen if that was on the last time."""
        self.page.restore()
        self.osc.restore()

    def offer(self, devices: Sequence[VirtualCameraDevice]) -> None:
        """Let the person choose among these virtual cameras."""
        from engine.devices import remedies

        self._panels.virtual_camera.set_devices(devices, remedies.no_virtual_camera())

    def close(self) -> None:
        """Serve and listen no longer."""
        self.page.close()
        self.osc.close()

    # what makes the sinks: the panels are read here, on the GUI thread

    def _make_virtual_camera(self) -> Callable[[], Route]:
        config, swapper = self.config(), self._desk.swapper

        def make() -> Route:
            from app.build import make_virtual_camera

            size, fps = config.virtual_camera_pixels, config.virtual_camera_fps
            return make_virtual_camera(config.virtual_camera_name, swapper, size=size, fps=fps)

        return make

    def _make_vmc(self) -> Callable[[], Route]:
        config = self.config()

        def make() -> Route:
            from app.build import make_vmc

            return make_vmc(config.vmc_host, config.vmc_port)

        return make
