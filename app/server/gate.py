"""Who may come in: stands before everything the server offers, pages and WebSockets alike."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from app.server.bucket import Bucket

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 64 * 1024
"""Bytes; the largest request that means anything has a few hundred."""
RATE, BURST = 20.0, 60
"""Requests per second over time, and at once: a deck of buttons needs ten, a flood must not cost the
stream its processor. Pictures and events of an open connection don't count."""
_TARPIT_S = 0.5
"""How long an answer to a flood is held back: whoever waits for it does not ask again meanwhile. Those
who don't wait are held up by `app.server.door`."""


class Gate:
    """ASGI middleware that refuses strangers before anything else runs.

    Refused are: another `Host` than this very address (a page whose name was re-pointed at 127.0.0.1, DNS
    rebinding), an `Origin` or `Sec-Fetch-Site` of another page, a missing or wrong token, bodies that are
    too large, and floods.

    Args:
        app: what is guarded.
        port: the server's, part of the only hosts and origins that are let in.
        token: given as `Authorization: Bearer TOKEN` or as `?token=TOKEN`.
        rate: requests per second, see `RATE`.
    """

    def __init__(self, app: App, port: int, token: str, rate: float = RATE) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._origins = {f"http://{host}" for host in self._hosts}
        self._token = token.encode()
        burst = max(BURST, 2 * rate)
        # Two of them, so that strangers can't use up what is meant for those who have the token.
        self._known, self._strangers = Bucket(rate, burst), Bucket(rate, burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request or WebSocket."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})  # before it was accepted: HTTP 403
        else:
            if refusal[0] == 429 or not self._strangers.take():
                await asyncio.sleep(_TARPIT_S)
            await _answer(send, *refusal)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        hosts = [value.decode("latin-1").lower() for value in headers.get(b"host", [])]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 403, "This server answers under its own address only"
        origins = [value.decode("latin-1").lower() for value in headers.get(b"origin", [])]
        sites = headers.get(b"sec-fetch-site", [])
        if any(one not in self._origins for one in origins) or any(
            one not in (b"none", b"same-origin") for one in sites
        ):
            return 403, "Pages of other sites may not talk to this server"
        if not self._knows_token(scope, headers):
            return 401, "The token is missing or wrong"
        if not self._known.take():
            return 429, "Too many requests"
        if b"transfer-encoding" in headers:
            return 411, "Requests need a Content-Length"
        length = headers.get(b"content-length", [b"0"])[0]
        if not length.isdigit() or int(length) > LARGEST_BODY:
            return 413, "The request is too large"
        return None

    def _knows_token(self, scope: Scope, headers: dict[bytes, list[bytes]]) -> bool:
        given = [
            value[7:].strip()
            for value in headers.get(b"authorization", [])
            if value[:7].lower() == b"bearer "
        ]
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        given += [one.encode("utf-8", "replace") for one in query.get("token", [])]
        return len(given) == 1 and hmac.compare_digest(given[0], self._token)


async def _answer(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": f"{sentence}.", "remedy": ""}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 429:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
