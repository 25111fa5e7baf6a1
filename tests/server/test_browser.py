"""The page in a real browser: what Chromium shows is what the engine made, and it moves."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import requests
from PIL import Image as PillowImage
from websockets.sync.client import ClientConnection, connect

from app.build import make_browser
from engine.folders import home
from engine.identity.demo import portrait_path
from engine.mark.detector import Detector, Verdict
from engine.mark.marker import make_marker
from engine.sinks.base import StreamInfo
from engine.types import Frame, Image, Output, Shown
from tests.server.conftest import make_desk, prepared, serving, until

pytestmark = pytest.mark.gui

W, H = 640, 480
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--remote-debugging-port=0",
)  # fmt: skip


class Memory:
    """A sink that remembers the last outputs."""

    name = "memory"

    def __init__(self) -> None:
        self.outputs: deque[Output] = deque(maxlen=150)

    def open(self, stream: StreamInfo) -> None:
        self.outputs.clear()

    def write(self, output: Output) -> None:
        self.outputs.append(output)

    def close(self) -> None:
        pass


class Tab:
    """A page, driven over Chromium's debugging protocol."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0

    def call(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=60))
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def screenshot(self) -> Image:
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        assert image is not None
        return image.astype(np.uint8)

    def value(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression)["result"].get("value")


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium: install the Debian package chromium")
    profile = tmp_path / "profile"
    environment = {**os.environ, "HOME": str(tmp_path)}
    process = subprocess.Popen(
        [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, start_new_session=True,
    )  # fmt: skip
    try:
        port_file = profile / "DevToolsActivePort"
        until(lambda: port_file.is_file() and port_file.read_text().count("\n"), 60)
        port = port_file.read_text().split()[0]

        def pages() -> list[str]:
            targets = requests.get(f"http://127.0.0.1:{port}/json", timeout=30).json()
            return [one["webSocketDebuggerUrl"] for one in targets if one["type"] == "page"]

        with connect(until(pages)[0], max_size=None) as socket:
            tab = Tab(socket)
            size = {"width": W, "height": H, "deviceScaleFactor": 1, "mobile": False}
            tab.call("Emulation.setDeviceMetricsOverride", **size)
            yield tab
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def unlike(one: Image, other: Image) -> float:
    return float(np.abs(one.astype(int) - other).mean())


def reduced(shot: Image) -> Image:
    """A screenshot in the size of the engine's pictures."""
    return cv2.resize(shot, (320, 240), interpolation=cv2.INTER_AREA).astype(np.uint8)


def test_chromium_shows_the_moving_swapped_picture(tab: Tab) -> None:
    browser, memory = make_browser("mesh"), Memory()
    desk = make_desk(browser, identity=prepared(), always=[memory])
    with serving(desk, browser) as client:
        client.desk.start()
        until(lambda: memory.outputs and memory.outputs[-1].shown is Shown.SWAPPED)
        tab.call("Page.navigate", url=client.server.page)
        until(lambda: tab.value("document.querySelector('canvas')?.width") == 320)
        until(lambda: sum(output.shown is Shown.SWAPPED for output in memory.outputs) > 30)
        shots, made = [], []
        for _ in range(3):
            shots.append(reduced(tab.screenshot()))
            made.append(tuple(memory.outputs))
            time.sleep(0.4)
        for shot, outputs in zip(shots, made, strict=True):
            nearest = min(outputs, key=lambda output: unlike(output.image, shot))
            assert nearest.shown is Shown.SWAPPED
            assert unlike(nearest.image, shot) < 4
            x0, y0, x1, y1 = (int(side) for side in nearest.faces[0].box)
            face = np.s_[y0:y1, x0:x1]
            assert unlike(nearest.frame.image[face], shot[face]) > 2 * unlike(nearest.image[face], shot[face])
        assert min(unlike(shots[0], shots[1]), unlike(shots[1], shots[2])) > 0.2, "the picture stands still"

        client.desk.panic(True)
        covered: Output = until(lambda: next((o for o in memory.outputs if o.reason == "panic"), None))
        until(lambda: unlike(reduced(tab.screenshot()), covered.image) < 4)


def test_screenshots_of_the_page_carry_the_watermark(tab: Tab) -> None:
    """JPEG, a browser's decoder and its canvas lie between; the page fills the window at another size."""
    marker, browser = make_marker(home(), "mesh", None), make_browser("mesh")
    with PillowImage.open(portrait_path()) as portrait:
        scene = np.asarray(portrait.convert("RGB").resize((1280, 1280)))[:, :, ::-1]
    browser.open(StreamInfo(1280, 720, 30.0, True))
    detector, plain = Detector(), Detector()
    with serving(make_desk(browser), browser) as client:
        size = {"width": 960, "height": 540, "deviceScaleFactor": 1, "mobile": False}
        tab.call("Emulation.setDeviceMetricsOverride", **size)
        tab.call("Page.navigate", url=client.server.page)
        for number in range(40):
            image = np.ascontiguousarray(scene[number * 8 : number * 8 + 720])
            plain.feed(cv2.resize(image, (960, 540), interpolation=cv2.INTER_AREA).astype(np.uint8))
            marker.apply(image)
            seen = browser.newest[0]
            browser.write(Output(Frame(number, time.monotonic_ns(), image), image))
            until(lambda seen=seen: browser.newest[0] > seen)
            detector.feed(tab.screenshot())
    browser.close()
    found = detector.find()
    assert (found.verdict, found.payload) == (Verdict.PRESENT, marker.payload), found
    assert plain.find().verdict is Verdict.ABSENT


def test_background_and_lost_server(tab: Tab) -> None:
    browser = make_browser("mesh")
    browser.open(StreamInfo(320, 120, 30.0, True))
    with serving(make_desk(browser), browser) as client:
        tab.call("Page.navigate", url=f"{client.server.page}&background=00ff00")
        until(lambda: tab.value("document.querySelector('canvas')?.width") == 320)
        shot = tab.screenshot()
        assert np.abs(shot[5, 5].astype(int) - (0, 255, 0)).max() < 8
        assert unlike(shot[H // 2 - 40 : H // 2 + 40], shot[:80]) > 20
    browser.close()
    # the server is gone: nothing stays frozen
    until(lambda: np.abs(tab.screenshot().astype(int) - (0, 255, 0)).max() < 8)
