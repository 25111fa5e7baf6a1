"""The whole window with the real engine, on the demo camera and the built-in face."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDialog
from pytestqt.qtbot import QtBot

from app.gui.consent_dialog import ConsentDialog
from app.gui.face_chooser import FaceChooser
from app.gui.main_window import MainWindow
from app.gui.settings import Settings, load
from app.options import CameraConfig, OutputConfig
from engine.config import DelayConfig, GuardPolicy
from engine.devices import list_virtual_cameras
from engine.identity.consent import Basis
from engine.identity.library import IdentityLibrary
from engine.types import Shown
from tests.unit.neural.test_families import store_with

pytestmark = [pytest.mark.gui, pytest.mark.timeout(300)]

DEMO = CameraConfig("demo", "320x240", 30.0)
# The machine that runs the tests may be slow; what is tested here is not its speed.
PATIENT = DelayConfig(budget_ms=5000.0, hard_ms=0.0, adapt=False)
LONG_MS = 60_000


@pytest.fixture
def library(tmp_path: Path) -> IdentityLibrary:
    return IdentityLibrary(tmp_path / "identities")


@pytest.fixture
def window(qtbot: QtBot, library: IdentityLibrary, tmp_path: Path) -> Iterator[MainWindow]:
    output = OutputConfig(recordings=str(tmp_path))
    made = MainWindow(library, settings=Settings(camera=DEMO, delay=PATIENT, output=output))
    made.show()
    yield made
    made.close()


def started(window: MainWindow, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: bool(window.sources.photos), timeout=LONG_MS)
    qtbot.mouseClick(window.controls.start, Qt.MouseButton.LeftButton)
    showing(window, qtbot, Shown.SWAPPED)


def showing(window: MainWindow, qtbot: QtBot, shown: Shown) -> None:
    def is_shown() -> bool:
        output = window.stage.preview.output
        return output is not None and output.shown is shown

    qtbot.waitUntil(is_shown, timeout=LONG_MS)


def stopped(window: MainWindow, qtbot: QtBot) -> None:
    qtbot.mouseClick(window.controls.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not window.live.runs, timeout=LONG_MS)


def test_start_swaps_and_stop_stops(window: MainWindow, qtbot: QtBot) -> None:
    started(window, qtbot)
    output = window.stage.preview.output
    assert output is not None
    assert output.swapped
    assert not np.array_equal(output.image, output.frame.image)
    qtbot.waitUntil(lambda: "fps" in window.status.fps.text(), timeout=LONG_MS)
    qtbot.waitUntil(lambda: window.status.state.text() == "Live", timeout=LONG_MS)
    assert "ms" in window.status.delay.text()
    stopped(window, qtbot)
    assert window.stage.preview.output is None
    assert window.status.state.text() == "Stopped"
    assert window.status.fps.text() == ""


def test_the_cover_key_covers_and_uncovers(window: MainWindow, qtbot: QtBot) -> None:
    started(window, qtbot)
    qtbot.keyClick(window, Qt.Key.Key_F12)
    showing(window, qtbot, Shown.COVERED)
    qtbot.waitUntil(lambda: window.status.state.text() == "Covered by you", timeout=LONG_MS)
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert window.controls.panic.isChecked()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.controls.panic.isChecked()
    showing(window, qtbot, Shown.SWAPPED)


def test_settings_take_effect_while_it_runs(window: MainWindow, qtbot: QtBot) -> None:
    started(window, qtbot)
    panel = window.sidebar.swap
    panel.strength.setValue(0)
    window.sidebar.guard.set_policy(GuardPolicy.PIXELATE)
    panel.who.setCurrentIndex(1)
    panel.who.activated.emit(1)
    window.sidebar.camera.size_box.setCurrentText("640x480")

    def has_new_size() -> bool:
        output = window.stage.preview.output
        return output is not None and output.shown is Shown.SWAPPED and output.image.shape == (480, 640, 3)

    qtbot.waitUntil(has_new_size, timeout=LONG_MS)
    assert window.stage.banners.banners() == []


def test_a_camera_that_is_not_there(window: MainWindow, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: bool(window.sources.photos), timeout=LONG_MS)
    window.sidebar.camera.select("No Such Camera")
    qtbot.mouseClick(window.controls.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(window.stage.banners.banners()), timeout=LONG_MS)
    banner = window.stage.banners.banners()[0]
    assert banner.level == "error"
    assert banner.remedy
    qtbot.waitUntil(lambda: not window.live.runs, timeout=LONG_MS)
    window.sidebar.camera.select("demo")
    started(window, qtbot)


def test_closing_while_it_starts(window: MainWindow, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: bool(window.sources.photos), timeout=LONG_MS)
    qtbot.mouseClick(window.controls.start, Qt.MouseButton.LeftButton)
    window.close()
    assert window.bridge.stats() is None


def test_a_recording(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    started(window, qtbot)
    with qtbot.waitSignal(window.bridge.sink_added, timeout=LONG_MS):
        window.sidebar.record.record.click()
    qtbot.waitUntil(lambda: any(p.stat().st_size > 1000 for p in tmp_path.glob("*.mp4")), timeout=LONG_MS)
    with qtbot.waitSignal(window.recordings.saved, timeout=LONG_MS) as saved:
        window.sidebar.record.record.click()
    with av.open(saved.args[0]) as container:
        assert sum(1 for _ in container.decode(video=0)) > 0
    assert window.stage.banners.banners()[0].level == "info"


def test_a_recording_is_finished_when_the_session_stops(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    started(window, qtbot)
    with qtbot.waitSignal(window.bridge.sink_added, timeout=LONG_MS):
        window.sidebar.record.record.click()
    qtbot.waitUntil(lambda: any(p.stat().st_size > 1000 for p in tmp_path.glob("*.mp4")), timeout=LONG_MS)
    with qtbot.waitSignal(window.recordings.saved, timeout=LONG_MS) as saved:
        stopped(window, qtbot)
    with av.open(saved.args[0]) as container:
        assert sum(1 for _ in container.decode(video=0)) > 0
    assert not window.sidebar.record.record.isChecked()


@pytest.mark.skipif(list_virtual_cameras() != [], reason="there is a virtual camera here")
def test_a_virtual_camera_that_is_not_there(window: MainWindow, qtbot: QtBot) -> None:
    started(window, qtbot)
    with qtbot.waitSignal(window.bridge.failed, timeout=LONG_MS):
        window.sidebar.virtual_camera.on.click()
    qtbot.waitUntil(lambda: not window.sidebar.virtual_camera.on.isChecked(), timeout=LONG_MS)
    assert window.stage.banners.banners()[0].remedy
    assert window.live.runs


def answer(monkeypatch: pytest.MonkeyPatch, basis: Basis | None) -> list[ConsentDialog]:
    """Answer the consent question as a person would, or cancel it."""
    asked: list[ConsentDialog] = []

    def execute(dialog: ConsentDialog) -> int:
        asked.append(dialog)
        if basis is None:
            return QDialog.DialogCode.Rejected
        dialog.choose(basis)
        dialog.accept_button.click()
        return dialog.result()

    monkeypatch.setattr(ConsentDialog, "exec", execute)
    return asked


@pytest.mark.shared
class TestPhotos:
    def test_consent_is_asked_once_and_kept(
        self,
        window: MainWindow,
        library: IdentityLibrary,
        qtbot: QtBot,
        photos: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        asked = answer(monkeypatch, Basis.PERMISSION)
        photo = photos / "uni_man_frontal.jpg"
        with qtbot.waitSignal(window.sources.changed, timeout=LONG_MS):
            window.sources.use_built_in()
        with qtbot.waitSignal(window.sources.changed, timeout=LONG_MS):
            window.sidebar.source.photos_given.emit([photo])
        assert window.sources.remembered == (((str(photo), 1),),)
        digest = window.sources.photos[0].digest
        assert library.consents.require(digest).basis is Basis.PERMISSION
        with qtbot.waitSignal(window.sources.changed, timeout=LONG_MS):
            window.sidebar.source.removed.emit(0)
        assert window.sources.remembered == ()
        with qtbot.waitSignal(window.sources.changed, timeout=LONG_MS):
            window.sidebar.source.photos_given.emit([photo])
        assert len(asked) == 1
        started(window, qtbot)

    def test_without_consent_the_photo_is_not_used(
        self,
        window: MainWindow,
        library: IdentityLibrary,
        qtbot: QtBot,
        photos: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        asked = answer(monkeypatch, None)
        qtbot.waitUntil(lambda: bool(window.sources.photos), timeout=LONG_MS)
        window.sidebar.source.photos_given.emit([photos / "uni_man_frontal.jpg"])
        qtbot.waitUntil(lambda: bool(asked), timeout=LONG_MS)
        assert window.sources.remembered == ()
        assert list(library.consents.records()) == []

    def test_a_photo_without_a_face_says_so(self, window: MainWindow, qtbot: QtBot, photos: Path) -> None:
        qtbot.waitUntil(lambda: bool(window.sources.photos), timeout=LONG_MS)
        window.sidebar.source.photos_given.emit([photos / "lite_dark_room_noface.png"])
        qtbot.waitUntil(lambda: bool(window.stage.banners.banners()), timeout=LONG_MS)
        banner = window.stage.banners.banners()[0]
        assert "face" in banner.message.lower()
        assert banner.remedy
        assert window.sources.remembered == ()

    def test_of_several_faces_one_is_chosen_by_click(
        self, window: MainWindow, qtbot: QtBot, photos: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answer(monkeypatch, Basis.FICTIONAL)

        def execute(dialog: FaceChooser) -> int:
            dialog.show()
            where = dialog.picture.rect_of(1).center()
            qtbot.mouseClick(dialog.picture, Qt.MouseButton.LeftButton, pos=where)
            return dialog.result()

        monkeypatch.setattr(FaceChooser, "exec", execute)
        qtbot.waitUntil(lambda: bool(window.sources.photos), timeout=LONG_MS)
        with qtbot.waitSignal(window.sources.changed, timeout=LONG_MS):
            window.sidebar.source.photos_given.emit([photos / "uni_group_meeting.jpg"])
        assert window.sources.photos[0].chosen > 1


def test_what_was_set_is_remembered(qtbot: QtBot, library: IdentityLibrary, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    window = MainWindow(library, path=path)
    window.show()
    window.sidebar.swap.strength.setValue(30)
    window.sidebar.camera.size_box.setCurrentText("640x360")
    window.resize(1000, 720)
    window.close()
    settings, notes = load(path)
    assert notes == []
    assert settings.swap.strength == 0.3
    assert settings.camera.size == "640x360"
    assert (settings.window.width, settings.window.height) == (1000, 720)
    again = MainWindow(library, path=path)
    assert again.current_settings() == settings
    again.close()


def test_twenty_times_start_swap_stop_close_leaves_nothing(
    qapp: QApplication, qtbot: QtBot, library: IdentityLibrary
) -> None:
    process = psutil.Process()
    children = process.children()  # of other tests, as Python's tracker of shared memory
    settings = Settings(camera=DEMO, delay=PATIENT)
    files = 0
    for turn in range(20):
        window = MainWindow(library, settings=settings)
        window.show()
        started(window, qtbot)
        stopped(window, qtbot)
        window.close()
        window.deleteLater()
        qapp.processEvents()
        # Stop waits for a second at most; what is in the middle of a model then ends by itself.
        qtbot.waitUntil(
            lambda: not any(t.name.startswith("kawari") for t in threading.enumerate()), timeout=LONG_MS
        )
        assert process.children() == children
        if turn == 2:
            files = process.num_fds() if os.name == "posix" else 0
    if files:
        assert process.num_fds() <= files


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="True and False are immortal there")
def test_hours_of_pictures_do_not_wear_out_the_interpreter(window: MainWindow) -> None:
    """PySide6 6.12.0 loses a reference to True with every signal, and the process aborts at zero."""
    before = sys.getrefcount(True)
    for _ in range(2000):
        window.bridge.picture_ready.emit()
    assert sys.getrefcount(True) > before - 1000


def test_another_swapper_takes_over_while_it_runs(
    qtbot: QtBot, library: IdentityLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("KAWARI_HOME", str(home))
    for name in ("inswapper_128", "arcface_w600k_r50"):
        store_with(home.parent, [name])
    window = MainWindow(library, settings=Settings(camera=DEMO, delay=PATIENT))
    window.show()
    try:
        combo = window.sidebar.swap.swapper
        qtbot.waitUntil(lambda: combo.count() == 2, timeout=LONG_MS)
        started(window, qtbot)
        combo.setCurrentIndex(1)
        first = window.bridge._session
        combo.activated.emit(1)

        def restarted() -> bool:
            swapper = window.bridge._swapper
            return (
                swapper is not None
                and swapper.name == "inswapper_128"
                and window.bridge._session is not first
            )

        qtbot.waitUntil(restarted, timeout=LONG_MS)
        showing(window, qtbot, Shown.SWAPPED)
        assert window.current_settings().swap.swapper == "inswapper_128"
        stopped(window, qtbot)
    finally:
        window.close()
