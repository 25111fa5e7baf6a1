"""The server itself: one thread, the loopback address, off until it is started."""

from __future__ import annotations

import socket
import threading
import time
from urllib.parse import quote

import uvicorn
from fastapi import FastAPI

from app.server import door
from app.server.api import add_problems, make_api
from app.server.desk import Desk
from app.server.door import Door
from app.server.gate import RATE, Gate
from app.server.streams import make_streams
from app.server.token import load_token
from engine.errors import DeviceError
from engine.folders import home
from engine.sinks.browser import BrowserSink
from engine.version import __version__

ADDRESS = "127.0.0.1"
_BUFFER = 128 * 1024
"""Bytes the system keeps for a slow viewer: about one picture, so that what it sees stays new."""
_START_S = 10.0
_STOP_S = 3.0


def make_app(desk: Desk, browser: BrowserSink, ending: threading.Event) -> FastAPI:
    """The application, without its gate."""
    # No interactive documentation: its scripts would be loaded from the network.
    app = FastAPI(
        title="Kawari",
        version=__version__,
        description="Control of a running Kawari. See docs/control.md.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
    )
    add_problems(app)
    app.include_router(make_api(desk, browser))
    app.include_router(make_streams(desk, browser, ending.is_set))
    return app


class ControlServer:
    """Serves the page and the control interface on 127.0.0.1.

    Args:
        desk: what is controlled.
        browser: where the pictures come from; add it to the session's sinks.
        port: 0 for any free one.
        token: the secret; None for the one kept in Kawari's folder.
        rate: requests per second, see `app.server.gate`.
    """

    def __init__(
        self, desk: Desk, browser: BrowserSink, port: int, token: str | None = None, rate: float = RATE
    ) -> None:
        self.token = load_token(home()) if token is None else token
        self._ending = threading.Event()
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            Gate(make_app(desk, browser, self._ending), self.port, self.token, rate),
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,  # addresses hold the token
            server_header=False,
            proxy_headers=False,
            ws="websockets-sansio",
            ws_max_size=4096,
            ws_per_message_deflate=False,
            limit_concurrency=64,
            timeout_graceful_shutdown=1,
        )
        self._server = Door(config, max(rate, door.RATE))
        self._thread = threading.Thread(target=self._run, name="kawari-server", daemon=True)

    @property
    def address(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://{ADDRESS}:{self.port}"

    @property
    def page(self) -> str:
        """The page's address, with the token."""
        return f"{self.address}/?token={quote(self.token)}"

    def start(self) -> None:
        """Serve from now on.

        Raises:
            DeviceError: it does not start.
        """
        self._thread.start()
        deadline = time.monotonic() + _START_S
        while not self._server.started and self._thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        if not self._server.started:
            self.stop()
            raise DeviceError("The control server does not start", "Run 'kawari doctor'")

    def stop(self) -> None:
        """End all connections and close the port."""
        self._ending.set()
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(_STOP_S)
        self._socket.close()

    def __enter__(self) -> ControlServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])


def _listen(port: int) -> socket.socket:
    """The listening socket; an own one, so that a taken port is told at once."""
    # asyncio switches Nagle's algorithm off only where the protocol is named; it costs 40 ms an answer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows would let another program share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        listener.bind((ADDRESS, port))
    except OSError as error:
        listener.close()
        raise DeviceError(
            f"Port {port} is taken by another program", "Give another one, such as --server 7421"
        ) from error
    return listener
