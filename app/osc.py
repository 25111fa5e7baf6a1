"""OSC in: panic and strength from a controller on this computer."""

from __future__ import annotations

import threading

from pythonosc.dispatcher import Dispatcher
from pythonosc.osc_server import BlockingOSCUDPServer

from app.server.desk import Desk
from engine.errors import DeviceError, KawariError

ADDRESS = "127.0.0.1"


class OscControl:
    """Listens on 127.0.0.1 for `/kawari/panic` (0 or 1; without a value: the other way than now) and
    `/kawari/strength` (0..1). Everything else, and every other value, is ignored.

    OSC knows no token: any program of this computer may send, hence no more than these two.

    Args:
        desk: what is controlled.
        port: UDP, 0 for any free one.

    Raises:
        DeviceError: the port is taken.
    """

    def __init__(self, desk: Desk, port: int) -> None:
        self._desk = desk
        dispatcher = Dispatcher()
        dispatcher.map("/kawari/panic", self._panic)
        dispatcher.map("/kawari/strength", self._strength)
        try:
            self._server = BlockingOSCUDPServer((ADDRESS, port), dispatcher)
        except OSError as error:
            raise DeviceError(f"OSC port {port} is taken by another program", "Give another one") from error
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="kawari-osc", daemon=True)

    def __enter__(self) -> OscControl:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(2)
        self._server.server_close()

    def _panic(self, _address: str, *values: object) -> None:
        value = values[0] if values else not self._desk.stats().panic
        if isinstance(value, (bool, int, float)):
            self._desk.panic(bool(value))

    def _strength(self, _address: str, *values: object) -> None:
        value = values[0] if values else None
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
            try:
                self._desk.set_strength(float(value))
            except KawariError:  # the session is just ending
                return
