"""Opens connections no faster than Kawari can afford; what comes faster waits in the system's queue.

A request costs 0.3 ms of the processor and of the interpreter's lock, refused or not. So a flood must be
held up before Python ever sees it: nobody accepts its connections, and the system lets it wait.
"""

from __future__ import annotations

import asyncio
import socket

import uvicorn

from app.server.bucket import Bucket

RATE, BURST = 40.0, 128
"""Connections per second over time, and at once: a page needs two, a deck of buttons one a press."""
QUEUE = 32
"""Connections that wait; more than that the system refuses or lets try again."""


class Door(uvicorn.Server):
    """uvicorn's server, but for who is let in when.

    Args:
        config: uvicorn's settings.
        rate: connections per second, see `RATE`.
    """

    def __init__(self, config: uvicorn.Config, rate: float = RATE) -> None:
        super().__init__(config)
        self._bucket = Bucket(rate, max(BURST, 2 * rate))
        self._admitting: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start with one listening socket, which is bound but does not listen yet."""
        assert sockets
        sockets[0].setblocking(False)
        sockets[0].listen(QUEUE)  # first: from `startup` on the server calls itself started
        await super().startup(sockets=[])  # with the socket it would accept whatever comes
        self._admitting = asyncio.create_task(self._admit(sockets[0]))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Admit nobody any more, then end all connections."""
        if self._admitting is not None:
            self._admitting.cancel()
            await asyncio.gather(self._admitting, return_exceptions=True)
        await super().shutdown(sockets)

    async def _admit(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._bucket.wait_s)
            try:
                connection, _ = await loop.sock_accept(listener)
                self._bucket.take()
                await loop.connect_accepted_socket(self._protocol, connection)
            except OSError:  # it is gone already, or there are too many open files
                await asyncio.sleep(1 / RATE)

    def _protocol(self) -> asyncio.Protocol:
        # As uvicorn's own `startup` makes it.
        protocol: type[asyncio.Protocol] = self.config.http_protocol_class
        return protocol(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
