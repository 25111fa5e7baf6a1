"""The voice in the window: chosen, missing, paused; snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import av
import pytest
from pytestqt.qtbot import QtBot

from app.gui.main_window import MainWindow
from app.gui.record_panel import RecordPanel
from app.gui.settings import Settings
from app.gui.sound_panel import SoundPanel
from app.options import OFF, OutputConfig, SoundConfig
from engine.identity.library import IdentityLibrary
from engine.mark.manifest import Trust, read
from tests.gui.test_window import DEMO, LONG_MS, PATIENT, started

pytestmark = [pytest.mark.gui, pytest.mark.timeout(300)]


def choose(panel: SoundPanel, box: str, name: str) -> None:
    combo = getattr(panel, box)
    combo.setCurrentIndex(combo.findData(name))
    combo.activated.emit(combo.currentIndex())


def test_nothing_is_played_without_a_microphone(qtbot: QtBot) -> None:
    panel = SoundPanel(SoundConfig())
    qtbot.addWidget(panel)
    panel.set_devices(["Headset", "Headset", "Webcam"], ["Speakers", "Cable"])
    assert panel.microphone.count() == 4 and panel.config() == SoundConfig()
    assert not panel.monitor.isEnabled()
    switched: list[bool] = []
    panel.monitor_switched.connect(switched.append)
    choose(panel, "microphone", "Headset")
    choose(panel, "monitor", "Cable")
    assert panel.config() == SoundConfig("Headset", "Cable") and switched == [True]
    with qtbot.waitSignal(panel.changed, timeout=1000):
        choose(panel, "monitor", "Speakers")
    choose(panel, "microphone", OFF)
    assert panel.config() == SoundConfig() and switched == [True, False]


def test_a_device_that_is_gone_stays_chosen_and_trouble_is_told(qtbot: QtBot) -> None:
    panel = SoundPanel(SoundConfig("Headset", "Cable", 40.0))
    qtbot.addWidget(panel)
    panel.set_devices([], [], "PortAudio is not installed.")
    assert panel.config() == SoundConfig("Headset", "Cable", 40.0)
    assert "PortAudio" in panel._hint.text()
    panel.set_devices(["Webcam"], [])
    panel.set_late(63.4)
    assert "63 ms" in panel._hint.text()


def test_only_a_recording_can_be_paused(qtbot: QtBot) -> None:
    panel = RecordPanel()
    qtbot.addWidget(panel)
    assert not panel.pause.isEnabled() and not panel.snapshot.isEnabled()
    panel.set_running(True)
    assert not panel.pause.isEnabled() and panel.snapshot.isEnabled()
    panel.set_recording(True)
    panel.pause.click()
    assert panel.pause.isChecked()
    panel.set_recording(False)
    assert not panel.pause.isEnabled() and not panel.pause.isChecked()


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> Iterator[MainWindow]:
    settings = Settings(
        camera=DEMO,
        delay=PATIENT,
        output=OutputConfig(recordings=str(tmp_path)),
        sound=SoundConfig("no such"),
    )
    made = MainWindow(IdentityLibrary(tmp_path / "identities"), settings=settings)
    made.show()
    yield made
    made.close()


def test_without_its_microphone_a_recording_goes_on_pauses_and_is_signed(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    started(window, qtbot)
    panel = window.sidebar.record
    with qtbot.waitSignal(window.recordings.warned, timeout=LONG_MS) as warned:
        panel.record.click()
    assert warned.args[0].endswith("The recording has no sound.")
    qtbot.waitUntil(lambda: window.recordings.state == "on", timeout=LONG_MS)
    panel.pause.click()
    assert window.recordings.state == "paused"
    panel.pause.click()
    with qtbot.waitSignal(window.recordings.saved, timeout=LONG_MS) as snapshot:
        panel.snapshot.click()
    assert read(Path(snapshot.args[0])).trust is Trust.UNTRUSTED  # signed, by a signer unknown here
    qtbot.waitUntil(lambda: any(p.stat().st_size > 1000 for p in tmp_path.glob("*.mp4")), timeout=LONG_MS)
    with qtbot.waitSignal(window.recordings.saved, timeout=LONG_MS) as saved:
        panel.record.click()
    with av.open(saved.args[0]) as file:
        assert not file.streams.audio and sum(1 for _ in file.decode(video=0)) > 0
    assert read(Path(saved.args[0])).trust is Trust.UNTRUSTED
