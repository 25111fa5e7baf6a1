"""The browser page and the control server, switched on and off in the window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication

from app.gui.bridge import Bridge
from app.gui.desk import WindowDesk
from app.gui.page_panel import PagePanel

if TYPE_CHECKING:
    from app.server.server import ControlServer
    from engine.sinks.browser import BrowserSink


class BrowserPage(QObject):
    """Serves the page while its box is ticked; opens and closes it on the bridge's look-up thread, since the
    server takes a second to import, and a request that ends may wait for the GUI thread.

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
        self._last: ControlServer | None = None
        self._closed = False
        panel.browser_switched.connect(self._switch)
        panel.address_wanted.connect(self._copy)
        bridge.started.connect(self._feed)

    def restore(self) -> None:
        """Serve if the settings say so."""
        if self._panel.browser.isChecked():
            self._switch(True)

    def close(self) -> None:
        """Serve no longer, for good."""
        self._closed = True
        server, self._server, self._sink = self._last, None, None
        if server is not None:
            server.stop()

    def _switch(self, on: bool) -> None:
        if on:
            self._bridge.look_up(self._open, self._opened)
            return
        if self._sink is not None:
            self._bridge.remove_sink(self._sink)
        server, self._server, self._sink = self._server, None, None
        self._panel.set_address("")
        if server is not None:
            self._bridge.look_up(server.stop, lambda _: None)

    def _open(self) -> tuple[ControlServer, BrowserSink]:
        """On the look-up thread."""
        from app.build import make_browser
        from app.server.opening import open_server

        sink = make_browser(self._desk.swapper)
        server = open_server(self._desk, sink, self._port)
        server.start()
        self._last = server
        if self._closed:  # meanwhile; `close` stops what it finds in `_last`
            server.stop()
        return server, sink

    def _opened(self, result: Any) -> None:
        if isinstance(result, Exception):
            self._panel.set_browser(False)
            self.failed.emit(result)
            return
        server, sink = result
        if not self._panel.browser.isChecked():  # switched off meanwhile
            self._bridge.look_up(server.stop, lambda _: None)
            return
        self._server, self._sink = server, sink
        self._panel.set_address(server.address)
        self._feed()

    def _feed(self) -> None:
        """Let a session that runs send its pictures."""
        sink = self._sink
        if sink is not None:
            self._bridge.add_sink(lambda: sink, sink.name)

    def _copy(self) -> None:
        if self._server is not None:
            QGuiApplication.clipboard().setText(self._server.page)
