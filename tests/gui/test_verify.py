"""The verify panel: files and cameras, off the GUI thread, and stopped at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import cv2
import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from pytestqt.qtbot import QtBot

from app.build import credentials
from app.gui.bridge import Bridge
from app.gui.verification import Verification
from app.gui.verify_panel import VerifyPanel
from app.gui.verifying import Verifying
from app.options import CameraConfig
from engine.errors import CancelledError, InputError
from engine.folders import home
from engine.identity.library import IdentityLibrary
from engine.mark.detector import Finding, Pose, Verdict
from engine.mark.marker import make_marker
from engine.mark.verify import Report
from engine.types import Image

pytestmark = [pytest.mark.gui, pytest.mark.timeout(300)]
LONG_MS = 60_000


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "home"))


@pytest.fixture
def panel(qtbot: QtBot) -> VerifyPanel:
    made = VerifyPanel()
    qtbot.addWidget(made)
    return made


@pytest.fixture
def verifying(panel: VerifyPanel, tmp_path: Path) -> Iterator[Verifying]:
    bridge = Bridge(IdentityLibrary(tmp_path / "identities"))
    made = Verifying(panel, bridge, bridge)
    yield made
    made.cancel()
    bridge.close()


def scene() -> Image:
    noise = np.random.default_rng(5).integers(0, 255, (720, 1280, 3), np.uint8)
    return np.asarray(cv2.GaussianBlur(noise, (0, 0), 4), np.uint8)


def drop(panel: VerifyPanel, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    button, key = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    panel.dropEvent(QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, button, key))


def done(panel: VerifyPanel, qtbot: QtBot) -> dict[str, str]:
    qtbot.waitUntil(lambda: panel.progress.isHidden(), timeout=LONG_MS)
    return panel.facts.facts()


def test_a_marked_and_signed_picture(
    panel: VerifyPanel, verifying: Verifying, qtbot: QtBot, tmp_path: Path
) -> None:
    picture = scene()
    make_marker(home(), "mesh", None).apply(picture)
    path = tmp_path / "ü.jpg"
    cv2.imwrite(str(path), picture)
    credentials("mesh").attach(path)
    drop(panel, path)
    assert not panel.progress.isHidden()
    facts = done(panel, qtbot)
    assert panel.verdict.text() == "Made by Kawari"
    assert facts["Of"] == "ü.jpg"
    assert facts["Watermark"].startswith("present (z ")
    assert facts["Frames used"] == "1"
    assert str(date.today().year) in facts["Says"]
    assert facts["Statement"].startswith("trusted")
    assert facts["Content"] == "says that it is synthetic"

    data = bytearray(path.read_bytes())
    data[-2000] ^= 1  # in the pixels
    path.write_bytes(data)
    drop(panel, path)
    assert done(panel, qtbot)["Statement"].startswith("tampered")


def test_a_private_mark_alone_is_enough(panel: VerifyPanel) -> None:
    def found(verdict: Verdict, z: float) -> Finding:
        return Finding(verdict, z, None, 60, Pose())

    panel.show_report("x", Report(found(Verdict.ABSENT, 2), None, None, found(Verdict.PRESENT, 12)))
    assert panel.verdict.text() == "Made by Kawari"
    assert panel.facts.facts()["Your own key"] == "found (z 12.0)"
    panel.show_report("x", Report(found(Verdict.UNCERTAIN, 7), None, None, found(Verdict.ABSENT, 1)))
    assert "Perhaps" in panel.verdict.text()
    assert "Your own key" not in panel.facts.facts()


def test_an_unmarked_picture(panel: VerifyPanel, verifying: Verifying, qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "plain.png"
    cv2.imwrite(str(path), scene())
    drop(panel, path)
    facts = done(panel, qtbot)
    assert "No watermark" in panel.verdict.text()
    assert facts["Watermark"].startswith("absent")
    assert facts["Statement"] == "none"
    assert "Says" not in facts


def test_what_is_no_picture_says_so(
    panel: VerifyPanel, verifying: Verifying, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing to see")
    with qtbot.waitSignal(verifying.failed, timeout=LONG_MS) as failed:
        drop(panel, path)
    assert isinstance(failed.args[0], InputError)
    assert panel.progress.isHidden()


def test_a_camera_is_looked_through(panel: VerifyPanel, verifying: Verifying, qtbot: QtBot) -> None:
    told: list[int] = []
    verifying._progress.connect(lambda _, frames: told.append(frames))
    panel.wanted.emit(CameraConfig("demo", "320x240", 60.0))
    facts = done(panel, qtbot)
    assert int(facts["Frames used"]) > 0
    assert facts["Watermark"].startswith("absent")
    assert "Statement" not in facts
    assert told[-1] > 10


def test_cancel_is_at_once_and_the_next_one_runs(
    panel: VerifyPanel, verifying: Verifying, qtbot: QtBot, tmp_path: Path
) -> None:
    panel.wanted.emit(CameraConfig("demo", "320x240", 1.0))  # a minute for its sixty frames
    qtbot.wait(300)
    panel.cancel.click()
    assert panel.progress.isHidden()
    assert panel.verdict.isHidden()
    path = tmp_path / "plain.png"
    cv2.imwrite(str(path), scene())
    drop(panel, path)
    assert done(panel, qtbot)["Of"] == "plain.png"


def test_a_stopped_examination_ends_although_the_camera_blocks() -> None:
    began = threading.Event()
    work = Verification(CameraConfig("demo", "320x240", 1.0), lambda _: began.set())
    raised: list[Exception] = []

    def run() -> None:
        try:
            work.run()
        except CancelledError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert began.wait(20)
    work.cancel()
    thread.join(2)
    assert not thread.is_alive()
    assert raised
