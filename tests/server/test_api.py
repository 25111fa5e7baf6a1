"""The control interface on a session that really runs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.sync.client import ClientConnection, connect

from app.build import make_browser
from engine.cards import draw_card
from engine.config import GuardConfig, GuardPolicy
from engine.folders import home
from engine.mark.manifest import Trust, read
from engine.mark.signer import local_signing_key
from tests.server.conftest import SLOW, TOKEN, Client, make_desk, prepared, serving, until


@pytest.fixture
def live() -> Iterator[Client]:
    """The demo camera's face is swapped."""
    browser = make_browser("mesh")
    with serving(make_desk(browser, identity=prepared()), browser) as client:
        client.desk.start()
        until(lambda: client.desk.stats().shown == "swapped")
        yield client


def test_start_stop_and_start_again(client: Client) -> None:
    assert client("GET", "/api/state").json()["state"] == "idle"
    for _ in range(2):
        state = client("POST", "/api/start").json()
        assert state["running"] is True
        again = client("POST", "/api/start")
        assert again.status_code == 409
        assert "runs already" in again.json()["error"]
        assert client("POST", "/api/stop").json()["state"] == "finished"


def test_panic_strength_guard_and_faces(live: Client) -> None:
    assert live("POST", "/api/panic", {"on": True}).json()["panic"] is True
    until(lambda: live("GET", "/api/state").json()["figures"]["shown"] == "covered")
    assert live("POST", "/api/panic").json()["panic"] is False  # the other way
    assert live("PUT", "/api/strength", {"strength": 0.25}).json()["strength"] == 0.25
    assert live("PUT", "/api/guard", {"policy": "card"}).json()["guard"] == "card"
    assert [one["on"] for one in live("GET", "/api/faces").json()["choices"]] == [True, False]
    assert [one["on"] for one in live("PUT", "/api/face", {"id": "2"}).json()["choices"]] == [False, True]
    until(lambda: live("GET", "/api/state").json()["figures"]["shown"] == "swapped")


def test_the_guard_needs_a_picture_to_show_one(client: Client) -> None:
    refused = client("PUT", "/api/guard", {"policy": "picture"})
    assert (refused.status_code, "no picture" in refused.json()["error"]) == (409, True)


def test_panic_lasts_over_a_new_start(client: Client) -> None:
    client("POST", "/api/panic", {"on": True})
    client("POST", "/api/start")
    for _ in range(5):
        figures = client("GET", "/api/state").json()["figures"]
        assert figures["shown"] in ("", "covered")
        time.sleep(0.1)


def test_cameras_and_outputs(live: Client) -> None:
    cameras = live("GET", "/api/cameras").json()["choices"]
    assert {"id": "demo", "name": "Demo camera", "on": True} in cameras
    assert live("PUT", "/api/camera", {"id": "demo"}).status_code == 200
    assert live("PUT", "/api/camera", {"id": "/etc/passwd"}).status_code == 422
    assert live("GET", "/api/outputs").json()["choices"] == [{"id": "null", "name": "Nothing", "on": False}]
    assert live("PUT", "/api/outputs/null", {"on": True}).json()["choices"][0]["on"] is True
    until(lambda: [s for s in live.desk.stats().sinks if s.name == "null" and s.written])
    live("PUT", "/api/outputs/null", {"on": False})
    assert "null" not in [sink.name for sink in live.desk.stats().sinks]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "/api/strength", {"strength": 1.5}, 422),
        ("PUT", "/api/strength", {"strength": "much"}, 422),
        ("PUT", "/api/strength", {}, 422),
        ("PUT", "/api/strength", {"strength": 0.5, "more": 1}, 422),
        ("PUT", "/api/guard", {"policy": "none"}, 422),
        ("PUT", "/api/guard", {"policy": "pass"}, 403),
        ("PUT", "/api/face", {"id": "7"}, 422),
        ("PUT", "/api/outputs/none", {"on": True}, 422),
        ("POST", "/api/snapshot", None, 409),
        ("POST", "/api/recording/pause", {"on": True}, 409),
        ("POST", "/api/recording/pause", {"on": "much"}, 422),
        ("POST", "/api/recording/split", None, 409),
        ("GET", "/api/none", None, 404),
        ("DELETE", "/api/state", None, 405),
    ],
)
def test_what_can_not_be_done_is_said(client: Client, method: str, path: str, body: Any, status: int) -> None:
    answer = client(method, path, body)
    assert answer.status_code == status
    assert set(answer.json()) == {"error", "remedy"}
    assert answer.json()["error"].endswith(".")
    assert client.desk.guard.value == "hold"


def test_a_recording_is_paused_and_split(tmp_path: Path) -> None:
    browser, path = make_browser("mesh"), tmp_path / "r.mp4"
    desk = make_desk(browser, config=replace(SLOW, tracking_only=True), recording=path)
    with serving(desk, browser) as client:
        client("PUT", "/api/outputs/recording", {"on": True})
        assert client("POST", "/api/start").json()["recording"] == "on"
        until(lambda: [s for s in desk.stats().sinks if s.name == "recorder" and s.written])
        assert client("POST", "/api/recording/pause").json()["recording"] == "paused"
        assert client("POST", "/api/recording/pause").json()["recording"] == "on"
        assert client("POST", "/api/recording/pause", {"on": True}).json()["recording"] == "paused"
        assert client("POST", "/api/recording/pause", {"on": False}).json()["recording"] == "on"
        assert client("POST", "/api/recording/split").status_code == 200
        until((tmp_path / "r_002.mp4").exists)
        assert client("PUT", "/api/outputs/recording", {"on": False}).status_code == 200
        assert client("GET", "/api/state").json()["recording"] == "off"
        assert client("POST", "/api/recording/split").status_code == 409
    desk.close()
    assert all(len(probe(one)) == 1 for one in (path, tmp_path / "r_002.mp4"))


def probe(path: Path) -> list[str]:
    """The kinds of its streams."""
    with av.open(str(path)) as file:
        return [stream.type for stream in file.streams]


def test_snapshot_is_marked_and_signed(live: Client, tmp_path: Path) -> None:
    answer = live("POST", "/api/snapshot")
    assert answer.headers["content-type"] == "image/png"
    path = tmp_path / "s.png"
    path.write_bytes(answer.content)
    picture = cv2.imread(str(path))
    assert picture is not None
    assert picture.shape == (240, 320, 3)
    statement = read(path, local_signing_key(home()).root)
    assert statement.trust is Trust.TRUSTED
    assert statement.synthetic


def test_metrics(live: Client) -> None:
    answer = live("GET", "/metrics")
    families = {one.name: one for one in text_string_to_metric_families(answer.text)}
    stats = live.desk.stats()
    assert families["kawari_up"].samples[0].value == 1
    assert 0 < families["kawari_frames_out"].samples[0].value <= stats.frames_out
    stages = {sample.labels["stage"] for sample in families["kawari_stage_seconds"].samples}
    assert {"track", "swap"} <= stages
    sinks = {sample.labels["sink"] for sample in families["kawari_sink_written"].samples}
    assert "browser" in sinks
    delay = {s.labels["quantile"]: s.value for s in families["kawari_delay_quantile_seconds"].samples}
    assert 0 < delay["0.5"] <= delay["0.95"] <= delay["1"]


def hear(socket: ClientConnection, wanted: str) -> Any:
    """The next message of this kind."""
    while True:
        message = json.loads(socket.recv(timeout=30))
        if wanted in message:
            return message[wanted]


def test_websocket_tells_and_obeys(live: Client) -> None:
    address = f"ws://127.0.0.1:{live.server.port}/ws?token={TOKEN}"
    with connect(address) as socket:
        assert hear(socket, "state")["running"] is True
        socket.send(json.dumps({"command": "panic", "on": True}))
        while (event := hear(socket, "event"))["kind"] != "panic":
            pass
        assert event["data"] == {"on": True}
        assert hear(socket, "state")["panic"] is True
        socket.send(json.dumps({"command": "strength", "strength": 7}))
        assert "less than or equal to 1" in hear(socket, "error")
        socket.send("{")
        assert hear(socket, "error")
        socket.send(json.dumps({"command": "face", "id": "9"}))
        assert "no face" in hear(socket, "error")
        socket.send(json.dumps({"command": "stop"}))
        while hear(socket, "state")["state"] != "finished":
            pass


def test_openapi_is_typed(client: Client) -> None:
    document = client("GET", "/openapi.json").json()
    assert document["info"]["title"] == "Kawari"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation.get("summary") and operation.get("description"), (path, method)
            if path.startswith("/api/") and path != "/api/snapshot":
                schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
                assert "$ref" in schema, (path, method)
    shape = document["components"]["schemas"]["Stats"]["properties"]
    assert {"fps", "delay", "sinks"} <= set(shape)


def test_no_documentation_page_that_loads_from_the_network(client: Client) -> None:
    assert client("GET", "/docs").status_code == client("GET", "/redoc").status_code == 404


def test_tracking_only_shows_nobody() -> None:
    browser = make_browser("none")
    config = replace(SLOW, tracking_only=True, guard=GuardConfig(GuardPolicy.CARD))
    with serving(make_desk(browser, config=config), browser) as client:
        client("POST", "/api/start")
        until(lambda: client.desk.stats().faces)
        state = client("GET", "/api/state").json()
        assert state["swapper"] == "none"
        assert state["figures"]["shown"] == "covered"
        assert client("GET", "/api/faces").json() == {"choices": []}
        picture = browser.picture
        assert picture is not None
        card = draw_card(320, 240, "tracking-only").astype(int)
        assert np.abs(picture - card).max() < 16  # the watermark's little
