"""The picture's way to viewers: multipart JPEG and the page's WebSocket, fast and slow ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing

import cv2
import numpy as np
import pytest
import requests
from websockets.sync.client import connect

from app.build import make_browser
from engine.mark.detector import Detector, Verdict
from engine.sinks.base import StreamInfo
from engine.sinks.browser import BrowserSink
from engine.types import Frame, Image, Output
from tests.server.conftest import TOKEN, Client, make_desk, prepared, serving, until

STREAM = StreamInfo(320, 240, 30.0, True)


def picture(number: int, size: tuple[int, int] = (320, 240)) -> Image:
    """A picture whose brightness tells its number."""
    return np.full((size[1], size[0], 3), number * 4 % 256, np.uint8)


def output(image: Image, number: int = 0) -> Output:
    return Output(Frame(number, time.monotonic_ns(), image), image)


def number_in(jpeg: bytes) -> int:
    image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    return round(float(image.mean()) / 4)


def parts(response: requests.Response) -> Iterator[bytes]:
    """The pictures of a multipart answer."""
    assert response.headers["content-type"].startswith("multipart/x-mixed-replace; boundary=")
    boundary = b"--" + response.headers["content-type"].rpartition("=")[2].encode()
    buffer = b""
    for chunk in response.iter_content(None):
        buffer += chunk
        while buffer.count(boundary) > 1:
            _, part, rest = buffer.split(boundary, 2)
            buffer = boundary + rest
            head, _, body = part.partition(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            assert b"image/jpeg" in head
            yield body[:length]


def test_nothing_is_encoded_while_nobody_watches() -> None:
    sink = make_browser("mesh")
    sink.open(STREAM)
    sink.write(output(picture(1)))
    assert sink.newest == (0, None)
    woken: list[int] = []
    with sink.watch(lambda: woken.append(1)) as viewer:
        assert number_in(viewer.take() or b"") == 1  # at once, not only with the next picture
        assert viewer.take() is None
        for number in (2, 3, 4):
            sink.write(output(picture(number)))
        assert number_in(viewer.take() or b"") == 4  # the newest, none of those between
        assert len(woken) == 4
    assert sink.newest[1] is None
    sink.close()


def test_the_end_shows_the_card_and_no_frozen_face() -> None:
    sink = BrowserSink(lambda width, height: picture(9, (width, height)))
    sink.open(STREAM)
    with sink.watch(lambda: None) as viewer:
        sink.write(output(picture(1)))
        assert sink.picture is not None
        sink.close()
        assert number_in(viewer.take() or b"") == 9
        assert sink.picture is None
    with sink.watch(lambda: None) as late:
        assert number_in(late.take() or b"") == 9


def test_several_viewers_get_moving_marked_pictures() -> None:
    browser = make_browser("mesh")
    with serving(make_desk(browser, identity=prepared()), browser) as client:
        client.desk.start()
        until(lambda: client.desk.stats().shown == "swapped")
        address = f"ws://127.0.0.1:{client.server.port}/ws/picture?token={TOKEN}"
        with connect(address, max_size=None) as socket:
            with closing(client("GET", "/stream.mjpg", stream=True)) as response:
                stream = parts(response)
                first = [next(stream) for _ in range(4)]
                second = []
                for _ in range(30):
                    second.append(bytes(socket.recv(timeout=30)))
                    socket.send("next")
                assert browser.viewers == 2
            assert len(set(first)) == 4
            assert len(set(second)) == 30
        until(lambda: browser.viewers == 0)
    detector = Detector()
    for jpeg in second:
        image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
        assert image is not None
        detector.feed(image.astype(np.uint8))
    assert detector.find(thorough=False).verdict is Verdict.PRESENT  # it survives the JPEG


def test_a_slow_viewer_sees_the_newest_and_holds_nobody_up(client: Client) -> None:
    sink, address = client.browser, f"ws://127.0.0.1:{client.server.port}/ws/picture?token={TOKEN}"
    sink.open(STREAM)
    noise = np.random.default_rng(1).integers(0, 256, (720, 1280, 3), np.uint8)  # 1 MB each as JPEG
    with (
        connect(address, max_size=None) as slow,
        connect(address, max_size=None) as quick,
        closing(client("GET", "/stream.mjpg", stream=True)),  # never read
    ):
        until(lambda: sink.viewers == 3)
        slow.recv(timeout=30)
        quick.recv(timeout=30)
        longest = 0.0
        for _ in range(12):
            began = time.thread_time()
            sink.write(output(noise))
            longest = max(longest, time.thread_time() - began)
            quick.send("next")
            assert len(quick.recv(timeout=30)) > 500_000
        sink.write(output(picture(5)))
        slow.send("next")
        assert number_in(bytes(slow.recv(timeout=30))) == 5  # none of the twelve
        assert sink.newest[0] >= 13
    sink.close()


def test_the_server_ends_with_viewers_connected() -> None:
    browser = make_browser("mesh")
    browser.open(STREAM)
    with serving(make_desk(browser), browser) as client:
        address = f"ws://127.0.0.1:{client.server.port}/ws/picture?token={TOKEN}"
        news = f"ws://127.0.0.1:{client.server.port}/ws?token={TOKEN}"
        response = client("GET", "/stream.mjpg", stream=True)
        with closing(response), connect(address), connect(news):
            until(lambda: browser.viewers == 2)
            client.server.stop()
            assert "kawari-server" not in [thread.name for thread in threading.enumerate()]
    browser.close()


def test_the_page_needs_nothing_from_elsewhere(client: Client) -> None:
    page = client("GET", "/")
    assert "http" not in page.text.replace("http-equiv", "")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert f'<script nonce="{nonce}">' in page.text
    assert TOKEN not in page.text
    assert page.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/%2e%2e/page.html", "/page.html"])
def test_there_are_no_files(client: Client, path: str) -> None:
    assert client("GET", path).status_code == 404
