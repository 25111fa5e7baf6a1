"""The window's browser page and control: what is asked from outside is done by the window's own widgets."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.gui.main_window import MainWindow
from app.gui.settings import Settings
from app.options import OutputConfig
from engine.config import GuardPolicy
from engine.identity.library import IdentityLibrary
from engine.types import Shown
from tests.gui.test_window import DEMO, LONG_MS, PATIENT, showing

pytest.importorskip("fastapi", reason="the extra `server` is not installed")
pytestmark = [pytest.mark.gui, pytest.mark.timeout(300)]


class Outside:
    """Another program; the window goes on living while it waits for an answer."""

    def __init__(self, qtbot: QtBot, page: str) -> None:
        self._qtbot, self._pool = qtbot, ThreadPoolExecutor(1)
        self.page = page
        split = urlsplit(page)
        self._address = f"{split.scheme}://{split.netloc}"
        self._headers = {"Authorization": f"Bearer {parse_qs(split.query)['token'][0]}"}

    def __call__(self, method: str, path: str, json: Any = None, status: int = 200) -> Any:
        work = self._pool.submit(
            requests.request, method, self._address + path, json=json, headers=self._headers, timeout=60
        )
        self._qtbot.waitUntil(work.done, timeout=LONG_MS)
        answer = work.result()
        assert answer.status_code == status, answer.text
        return answer.json()

    def close(self) -> None:
        self._pool.shutdown()


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MainWindow]:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "home"))
    output = OutputConfig(recordings=str(tmp_path), server_port=0)
    settings = Settings(camera=DEMO, delay=PATIENT, output=output)
    made = MainWindow(IdentityLibrary(tmp_path / "identities"), settings=settings)
    made.show()
    qtbot.waitUntil(lambda: bool(made.sources.photos), timeout=LONG_MS)
    yield made
    made.close()


@pytest.fixture
def outside(window: MainWindow, qtbot: QtBot) -> Iterator[Outside]:
    page = window.sidebar.page
    page.browser.click()
    qtbot.waitUntil(page.copy.isEnabled, timeout=LONG_MS)
    page.copy.click()
    made = Outside(qtbot, QGuiApplication.clipboard().text())
    yield made
    made.close()


def test_it_is_off_until_it_is_switched_on(window: MainWindow) -> None:
    assert not OutputConfig().browser
    assert not window.sidebar.page.browser.isChecked()
    assert not window.sidebar.page.copy.isEnabled()


def test_started_changed_and_stopped_from_outside(window: MainWindow, outside: Outside, qtbot: QtBot) -> None:
    panels = window.sidebar
    assert outside("GET", "/api/state")["running"] is False
    assert outside("POST", "/api/start")["running"] is True
    assert window.live.runs
    showing(window, qtbot, Shown.SWAPPED)
    outside("POST", "/api/panic", {"on": True})
    assert window.controls.panic.isChecked()
    showing(window, qtbot, Shown.COVERED)
    outside("POST", "/api/panic", {"on": False})
    outside("PUT", "/api/strength", {"strength": 0.3})
    assert panels.swap.strength.value() == 30
    assert outside("PUT", "/api/guard", {"policy": "card"})["guard"] == "card"
    assert panels.guard.config().policy is GuardPolicy.CARD
    outside("PUT", "/api/guard", {"policy": "pass"}, status=403)
    assert {"id": "demo", "name": "Demo camera", "on": True} in outside("GET", "/api/cameras")["choices"]
    recording = outside("PUT", "/api/outputs/recording", {"on": True})["choices"][1]
    assert recording == {"id": "recording", "name": "Recording", "on": True}
    outside("PUT", "/api/outputs/recording", {"on": False})
    sinks = outside("GET", "/api/state")["figures"]["sinks"]
    assert "browser" in [sink["name"] for sink in sinks]
    assert outside("POST", "/api/stop")["running"] is False
    outside("POST", "/api/panic", {"on": True}, status=409)


def test_the_address_is_shown_without_its_secret(window: MainWindow, outside: Outside) -> None:
    shown = window.sidebar.page.address.text()
    assert shown == outside.page.partition("/?")[0]
    assert "token" not in shown


def test_switched_off_it_is_gone(window: MainWindow, outside: Outside, qtbot: QtBot) -> None:
    window.sidebar.page.browser.setChecked(False)
    assert window.sidebar.page.address.text() == ""

    def refused() -> bool:
        try:
            requests.get(outside.page, timeout=5)
        except requests.ConnectionError:
            return True
        return False

    qtbot.waitUntil(refused, timeout=LONG_MS)


def test_switched_on_and_off_at_once_nothing_is_served(window: MainWindow, qtbot: QtBot) -> None:
    page = window.sidebar.page
    page.browser.click()
    page.browser.click()
    qtbot.waitUntil(lambda: window.outputs.page._last is not None, timeout=LONG_MS)
    with pytest.raises(qtbot.TimeoutError):
        qtbot.waitUntil(page.copy.isEnabled, timeout=500)


def test_closing_while_it_opens_leaves_nothing(window: MainWindow) -> None:
    window.sidebar.page.browser.click()
    window.close()  # the leak check sees a server that would be left


def test_the_switch_is_remembered(window: MainWindow, outside: Outside) -> None:
    assert window.current_settings().output.browser is True
