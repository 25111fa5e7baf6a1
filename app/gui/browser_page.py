"""The browser page and the control server, switched on and off in the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication

from app.gui.bridge import Bridge
from app.gui.desk import WindowDesk
from app.gui.page_panel import PagePanel

if TYPE_CHECKING:
    from app.server.server import ControlServer
    from engine.sinks.browser import BrowserSink


class BrowserPage(QObject):
    """Serves the page while its box is ticked.

    Args:
        desk: what the server controls.
        port: where it is served.
    """

    failed = Signal(object)

    def __init__(
        self, bridge: Bridge, panel: PagePanel, desk: WindowDesk, port: int, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._bridge, self._panel, self._desk, self._port = bridge, panel, desk, port
        self._server: ControlServer | None = None
        self._sink: BrowserSink | None = None
        panel.browser_switched.connect(self._switch)
        panel.address_wanted.connect(self._copy)
        bridge.started.connect(self._feed)

    def restore(self) -> None:
        """Serve if the settings say so."""
        if self._panel.browser.isChecked():
            self._switch(True)

    def close(self) -> None:
        """Serve no longer."""
        server, self._server, self._sink = self._server, None, None
        self._panel.set_address("")
        if server is not None:
            server.stop()

    def _switch(self, on: bool) -> None:
        if not on:
            if self._sink is not None:
                self._bridge.remove_sink(self._sink)
            self.close()
            return
        try:
            from app.build import make_browser
            from app.server.opening import open_server

            self._sink = make_browser(self._desk.swapper)
            self._server = open_server(self._desk, self._sink, self._port)
            self._server.start()
        except Exception as error:  # noqa: BLE001 - shown in the window
            self.close()
            self._panel.set_browser(False)
            self.failed.emit(error)
            return
        self._panel.set_address(self._server.address)
        self._feed()

    def _feed(self) -> None:
        """Let a session that runs send its pictures."""
        sink = self._sink
        if sink is not None:
            self._bridge.add_sink(lambda: sink, sink.name)

    def _copy(self) -> None:
        if self._server is not None:
            QGuiApplication.clipboard().setText(self._server.page)
