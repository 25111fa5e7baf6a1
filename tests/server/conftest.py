"""A real server on a real port, before a real desk."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from app.build import make_browser
from app.desk import RECORDING, LiveDesk, Plug, Worn
from app.options import CameraConfig
from engine.config import DelayConfig, SessionConfig
from engine.identity.demo import demo_photo
from engine.sinks.browser import BrowserSink
from engine.sinks.null import NullSink
from engine.sinks.recorder import Recorder
from engine.swap import make_swapper

pytest.importorskip("fastapi", reason="the extra `server` is not installed")

from app.server.server import ControlServer

TOKEN = "a-token-for-tests-only"
SLOW = SessionConfig(delay=DelayConfig(budget_ms=5000, hard_ms=60000))
"""For machines that are busy: nothing is dropped for being late."""


@dataclass
class Client:
    """Speaks to a server as a program with the token does."""

    server: ControlServer
    desk: LiveDesk
    browser: BrowserSink

    def __call__(self, method: str, path: str, json: Any = None, **more: Any) -> requests.Response:
        more.setdefault("headers", {"Authorization": f"Bearer {TOKEN}"})
        return requests.request(method, self.server.address + path, json=json, timeout=60, **more)


def until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """What `condition` gives once it is true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
    return found


@contextmanager
def serving(desk: LiveDesk, browser: BrowserSink, rate: float = 1e6) -> Iterator[Client]:
    with ControlServer(desk, browser, 0, TOKEN, rate) as server:
        try:
            yield Client(server, desk, browser)
        finally:
            desk.stop()


@functools.cache
def prepared() -> Any:
    return make_swapper().prepare([demo_photo()])


def make_desk(
    browser: BrowserSink,
    *,
    identity: Any = None,
    always: Any = (),
    config: SessionConfig = SLOW,
    recording: Path | None = None,
) -> LiveDesk:
    """Two faces; without an `identity` nothing can be swapped, which is enough where nothing runs."""
    swapper = make_swapper()
    faces = [] if config.tracking_only else [Worn(name, identity) for name in ("a", "b")]
    plugs = [Plug("null", "Nothing", NullSink)]
    if recording is not None:
        plugs.append(Plug(RECORDING, "Recording", lambda: Recorder(recording)))
    return LiveDesk(config, CameraConfig("demo", "320x240", 15.0), swapper, faces, plugs, [browser, *always])


@pytest.fixture(autouse=True)
def kawari_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def client() -> Iterator[Client]:
    """Nothing runs yet."""
    browser = make_browser("mesh")
    with serving(make_desk(browser), browser) as client:
        yield client
