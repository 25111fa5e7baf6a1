"""What stays open: the page's pictures, multipart JPEG, and the WebSocket of state and commands."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from importlib import resources
from secrets import token_urlsafe
from typing import Any

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from fastapi.responses import HTMLResponse, StreamingResponse
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool

from app.server.api import obey, state_of
from app.server.desk import Desk
from app.server.schema import Command, News
from engine.errors import KawariError
from engine.events import Event
from engine.sinks.browser import BrowserSink, Viewer

_BOUNDARY = b"kawari-picture"
_POLL_S = 0.5
"""How often open connections look whether the server is ending."""
_STATE_S = 1.0
_COMMANDS: TypeAdapter[Any] = TypeAdapter(Command)
_PAGE = resources.files("app.server").joinpath("page.html").read_text(encoding="utf-8")


def make_streams(desk: Desk, browser: BrowserSink, ending: Callable[[], bool]) -> APIRouter:
    """The page and everything that stays open; `ending` is true once the server closes."""
    streams = APIRouter()

    @streams.get("/", operation_id="page", response_class=HTMLResponse)
    async def page() -> HTMLResponse:
        """The output, as large as the window: `?background=black`, `transparent` or `RRGGBB`,
        `?fit=contain` or `cover`."""
        nonce = token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        headers = {
            "content-security-policy": policy,
            "referrer-policy": "no-referrer",
            "cache-control": "no-store",
            "x-content-type-options": "nosniff",
        }
        return HTMLResponse(_PAGE.replace("NONCE", nonce), headers=headers)

    @streams.get(
        "/stream.mjpg",
        operation_id="stream",
        response_class=StreamingResponse,
        responses={200: {"content": {"multipart/x-mixed-replace": {}}, "description": "JPEG pictures"}},
    )
    async def stream() -> StreamingResponse:
        """The output as multipart JPEG, for programs that can't show the page."""
        return StreamingResponse(
            _multipart(browser, ending),
            media_type=f"multipart/x-mixed-replace; boundary={_BOUNDARY.decode()}",
            headers={"cache-control": "no-store"},
        )

    @streams.websocket("/ws/picture")
    async def pictures(socket: WebSocket) -> None:
        """One JPEG, then one more for each message that the viewer sends, always the newest."""
        await socket.accept()
        with _watch(browser) as (viewer, woken), contextlib.suppress(WebSocketDisconnect):
            while (data := await _next(viewer, woken, ending)) is not None:
                await socket.send_bytes(data)
                if (await socket.receive())["type"] == "websocket.disconnect":
                    return
        with contextlib.suppress(RuntimeError):
            await socket.close(1001)

    @streams.websocket("/ws")
    async def news(socket: WebSocket) -> None:
        """State each second and after each event, events as they come; takes commands."""
        await socket.accept()
        queue: asyncio.Queue[Event] = asyncio.Queue(64)
        loop = asyncio.get_running_loop()

        def put(event: Event) -> None:
            if not queue.full():  # a listener that does not listen loses events
                queue.put_nowait(event)

        def heard(event: Event) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(put, event)

        unsubscribe = desk.subscribe(heard)
        listener = asyncio.create_task(_listen(socket, desk))
        try:
            while not listener.done() and not ending():
                state = await run_in_threadpool(state_of, desk)
                await _tell(socket, News(state=state))
                with contextlib.suppress(TimeoutError):
                    event = await asyncio.wait_for(queue.get(), _STATE_S)
                    await _tell(socket, News(event=_plain(event)))
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            unsubscribe()
            listener.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await listener
        with contextlib.suppress(RuntimeError):
            await socket.close(1001)

    return streams


async def _listen(socket: WebSocket, desk: Desk) -> None:
    with contextlib.suppress(WebSocketDisconnect):
        while True:
            text = await socket.receive_text()
            try:
                command = _COMMANDS.validate_json(text)
            except ValidationError as error:
                await _tell(socket, News(error=f"Not understood: {error.errors()[0]['msg']}."))
                continue
            try:
                await run_in_threadpool(obey, desk, command)
            except KawariError as error:
                await _tell(socket, News(error=str(error)))


async def _tell(socket: WebSocket, news: News) -> None:
    await socket.send_text(news.model_dump_json(exclude_none=True))


def _plain(event: Event) -> dict[str, Any]:
    return {"kind": event.kind, "message": event.message, "data": dict(event.data)}


async def _multipart(browser: BrowserSink, ending: Callable[[], bool]) -> AsyncIterator[bytes]:
    with _watch(browser) as (viewer, woken):
        yield b"--" + _BOUNDARY
        while (data := await _next(viewer, woken, ending)) is not None:
            # The boundary follows at once: browsers show a part when they see its end.
            head = b"\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(data)
            yield head + data + b"\r\n--" + _BOUNDARY


@contextlib.contextmanager
def _watch(browser: BrowserSink) -> Any:
    """A viewer, and an event that is set with each new picture."""
    loop, woken = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(woken.set)

    with browser.watch(wake) as viewer:
        yield viewer, woken


async def _next(viewer: Viewer, woken: asyncio.Event, ending: Callable[[], bool]) -> bytes | None:
    """The next picture; None when the server ends."""
    while not ending():
        woken.clear()
        data = viewer.take()
        if data is not None:
            return data
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(woken.wait(), _POLL_S)
    return None
