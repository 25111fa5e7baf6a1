"""Opening the server where its extra may be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import UsageError

if TYPE_CHECKING:
    from app.server.desk import Desk
    from app.server.server import ControlServer
    from engine.sinks.browser import BrowserSink


def open_server(desk: Desk, browser: BrowserSink, port: int) -> ControlServer:
    """A server that has its port, not yet started.

    Raises:
        DeviceError: the port is taken.
        UsageError: the extra `server` is not installed.
    """
    try:
        from app.server.server import ControlServer
    except ImportError as error:
        raise UsageError(
            f"The control server needs {error.name}, which is not installed",
            "Install it with: pip install 'kawari[server]'",
        ) from error
    return ControlServer(desk, browser, port)
