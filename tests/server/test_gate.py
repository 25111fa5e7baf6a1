"""Strangers stay outside: no token, wrong token, wrong host, foreign pages, rebinding, floods."""

from __future__ import annotations

import http.client
import json
import select
import socket
import stat
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from app.build import make_browser
from app.server import door
from app.server.gate import BURST
from app.server.server import ControlServer
from app.server.token import load_token
from engine.errors import DeviceError
from tests.server.conftest import TOKEN, Client, make_desk, serving, until

GOOD = {"Authorization": f"Bearer {TOKEN}"}
PATHS = ["/", "/stream.mjpg", "/api/state", "/metrics", "/openapi.json", "/no-such-page"]


def ask(client: Client, path: str, headers: dict[str, str], method: str = "GET") -> int:
    """The status; `Host` may be given, "" leaves it out."""
    connection = http.client.HTTPConnection("127.0.0.1", client.server.port, timeout=20)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            if value:
                connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        if response.status > 400:
            assert json.loads(response.read())["error"].endswith(".")
        return response.status
    finally:
        connection.close()


@pytest.mark.parametrize("path", PATHS)
def test_no_token(client: Client, path: str) -> None:
    assert ask(client, path, {}) == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer "},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Cookie": f"token={TOKEN}"},
    ],
)
def test_wrong_token(client: Client, headers: dict[str, str]) -> None:
    assert ask(client, "/api/state", headers) == 401
    assert ask(client, "/api/panic", headers, "POST") == 401
    assert client.desk.stats().panic is False


@pytest.mark.parametrize("query", [f"token={TOKEN}x", "token=", f"token={TOKEN}&token={TOKEN}", "token=%ff"])
def test_wrong_token_in_the_address(client: Client, query: str) -> None:
    assert ask(client, f"/api/state?{query}", {}) == 401


def test_the_token_lets_in(client: Client) -> None:
    assert ask(client, "/api/state", GOOD) == 200
    assert ask(client, f"/api/state?token={TOKEN}", {}) == 200
    assert ask(client, "/api/state", {**GOOD, "Host": f"localhost:{client.server.port}"}) == 200
    assert ask(client, "/api/state", {**GOOD, "Origin": client.server.address}) == 200
    assert ask(client, "/no-such-page", GOOD) == 404


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}",
     "127.0.0.1.nip.io:{port}", "[::1]:{port}", "0.0.0.0:{port}", ""],
)  # fmt: skip
def test_rebinding_is_refused_even_with_the_token(client: Client, host: str) -> None:
    """A page whose name was re-pointed at 127.0.0.1 sends its own name as host, and its own origin."""
    name = host.format(port=client.server.port)
    # uvicorn itself refuses a request without any host
    assert ask(client, "/api/state", {**GOOD, "Host": name}) in ((403,) if name else (400, 403))
    if name:
        assert ask(client, "/", {**GOOD, "Host": name, "Origin": f"http://{name}"}) == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://localhost"},
        {"Origin": "file://"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_pages_of_other_sites_are_refused_even_with_the_token(
    client: Client, headers: dict[str, str]
) -> None:
    for path in ("/", "/stream.mjpg", "/api/state"):
        assert ask(client, path, {**GOOD, **headers}) == 403
    assert ask(client, "/api/panic", {**GOOD, **headers}, "POST") == 403
    assert client.desk.stats().panic is False


@pytest.mark.parametrize("path", ["/ws", "/ws/picture"])
@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("", {}),
        ("?token=wrong", {}),
        (f"?token={TOKEN}", {"Origin": "https://evil.example"}),
        (f"?token={TOKEN}", {"Origin": "null"}),
    ],
)
def test_websockets_are_refused_the_same_way(
    client: Client, path: str, query: str, headers: dict[str, str]
) -> None:
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(f"ws://127.0.0.1:{client.server.port}{path}{query}", additional_headers=headers),
    ):
        pass
    assert refused.value.response.status_code == 403


def test_websocket_rebinding_is_refused(client: Client) -> None:
    plain = socket.create_connection(("127.0.0.1", client.server.port), 20)
    with (
        pytest.raises(InvalidStatus),
        connect(f"ws://evil.example:{client.server.port}/ws?token={TOKEN}", sock=plain),
    ):
        pass


def test_no_page_may_read_answers(client: Client) -> None:
    answer = client("GET", "/api/state")
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
    assert client("OPTIONS", "/api/panic").status_code == 405


def test_large_and_endless_bodies_are_refused(client: Client) -> None:
    assert client("POST", "/api/panic", data=b" " * 70_000).status_code == 413
    assert client("POST", "/api/panic", data=iter([b"{}"])).status_code == 411


def test_a_flood_is_refused() -> None:
    browser = make_browser("mesh")
    with serving(make_desk(browser), browser, rate=1.0) as client:
        statuses = [client("GET", "/api/faces").status_code for _ in range(BURST + 4)]
    assert statuses[:BURST] == [200] * BURST
    assert 429 in statuses[BURST:]


def test_a_flood_of_strangers_costs_those_with_the_token_nothing() -> None:
    browser = make_browser("mesh")
    with serving(make_desk(browser), browser, rate=1.0) as client:
        began = time.monotonic()
        assert {ask(client, "/", {}) for _ in range(BURST + 2)} == {401}
        assert time.monotonic() - began > 0.8  # the last two were made to wait
        assert ask(client, "/api/faces", GOOD) == 200


def test_connections_of_a_flood_wait_at_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "RATE", 10.0)
    monkeypatch.setattr(door, "BURST", 20)
    browser = make_browser("mesh")
    with serving(make_desk(browser), browser, rate=1.0) as client:
        request = f"GET /api/faces?token={TOKEN} HTTP/1.1\r\nHost: 127.0.0.1:{client.server.port}\r\n\r\n"
        with ExitStack() as stack, connect(f"ws://127.0.0.1:{client.server.port}/ws?token={TOKEN}") as inside:
            began = time.monotonic()
            crowd = [
                stack.enter_context(socket.create_connection(("127.0.0.1", client.server.port), 20))
                for _ in range(30)
            ]
            for one in crowd:
                one.sendall(request.encode())
            time.sleep(0.2)
            answered = len(select.select(crowd, [], [], 0)[0])
            assert answered <= 20 + 10 * (time.monotonic() - began)
            inside.send('{"command": "panic", "on": true}')  # who is in is not held up
            until(lambda: client.desk.stats().panic)
            until(lambda: len(select.select(crowd, [], [], 0)[0]) == 30)  # nobody is forgotten
            assert time.monotonic() - began >= 0.9


def test_only_this_computer_is_served(client: Client) -> None:
    assert client.server._socket.getsockname()[0] == "127.0.0.1"


def test_a_taken_port_is_told(client: Client) -> None:
    with pytest.raises(DeviceError, match="taken"):
        ControlServer(client.desk, client.browser, client.server.port, TOKEN)


def test_the_token_is_kept_and_private(tmp_path: Path) -> None:
    token = load_token(tmp_path / "new")
    file = tmp_path / "new" / "server-token"
    assert len(token) >= 32
    assert load_token(tmp_path / "new") == token
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("")
    assert load_token(tmp_path / "new") not in ("", token)


def test_a_folder_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DeviceError):
        load_token(tmp_path / "file")
