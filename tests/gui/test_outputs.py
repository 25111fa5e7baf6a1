"""The tab "Outputs": what it switches really goes out, and what can't be opened is switched off again."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from pythonosc.udp_client import SimpleUDPClient

from app.gui.main_window import MainWindow
from app.gui.settings import Settings
from app.gui.virtual_camera_panel import VirtualCameraPanel
from app.options import OutputConfig
from engine.config import GuardConfig, GuardPolicy
from engine.devices import VirtualCameraDevice, VirtualCameraState
from engine.errors import UsageError
from engine.identity.library import IdentityLibrary
from engine.types import Shown
from tests.gui.test_window import DEMO, LONG_MS, PATIENT, showing, started, stopped

pytestmark = [pytest.mark.gui, pytest.mark.timeout(300)]


class Listener:
    """A VTuber program: a UDP port that counts what arrives."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.port = self._socket.getsockname()[1]

    def hear(self) -> bytes:
        """Everything that has arrived since the last time."""
        heard = b""
        while True:
            try:
                heard += self._socket.recv(65536)
            except BlockingIOError:
                return heard

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path, listener: Listener) -> Iterator[MainWindow]:
    output = OutputConfig(vmc=True, vmc_port=listener.port)
    settings = Settings(camera=DEMO, delay=PATIENT, output=output, guard=GuardConfig(GuardPolicy.BLUR))
    made = MainWindow(IdentityLibrary(tmp_path / "identities"), settings=settings)
    made.show()
    yield made
    made.close()


def test_pose_and_expression_go_where_the_panel_says(
    window: MainWindow, listener: Listener, qtbot: QtBot
) -> None:
    panel = window.sidebar.vtuber
    started(window, qtbot)
    qtbot.waitUntil(lambda: b"/VMC/Ext/Blend/Val" in listener.hear(), timeout=LONG_MS)
    with qtbot.waitSignal(window.bridge.sink_gone, timeout=LONG_MS):
        panel.vmc.click()
    listener.hear()
    qtbot.wait(300)
    assert listener.hear() == b""
    panel.vmc.click()
    qtbot.waitUntil(lambda: b"/VMC/Ext/OK" in listener.hear(), timeout=LONG_MS)

    other = Listener()
    panel.vmc_port.setValue(other.port)
    panel.vmc_port.editingFinished.emit()
    qtbot.waitUntil(lambda: b"/VMC/Ext/OK" in other.hear(), timeout=LONG_MS)
    assert window.current_settings().output.vmc_port == other.port
    other.close()
    stopped(window, qtbot)


def test_an_address_that_does_not_exist_is_refused(window: MainWindow, qtbot: QtBot) -> None:
    panel = window.sidebar.vtuber
    panel.vmc_host.setText("no such host!")
    panel.vmc_host.editingFinished.emit()
    started(window, qtbot)
    qtbot.waitUntil(lambda: not panel.vmc.isChecked(), timeout=LONG_MS)
    assert window.stage.banners.banners()[0].remedy
    assert window.live.runs


def test_tracking_only_shows_nobody_and_goes_on_telling(
    window: MainWindow, listener: Listener, qtbot: QtBot
) -> None:
    started(window, qtbot)
    window.sidebar.vtuber.tracking_only.click()

    def only_tracked() -> bool:
        output = window.stage.preview.output
        return output is not None and output.reason == "tracking-only"

    qtbot.waitUntil(only_tracked, timeout=LONG_MS)
    listener.hear()
    qtbot.waitUntil(lambda: b"/VMC/Ext/Blend/Val" in listener.hear(), timeout=LONG_MS)
    qtbot.waitUntil(lambda: "Tracking only" in window.status.state.text(), timeout=LONG_MS)
    output = window.stage.preview.output
    assert output is not None
    assert output.swapped == ()
    # the whole picture is blurred, without the mark: nothing in it is synthetic
    rows, columns = output.image.shape[:2]
    edge = output.image[: rows // 12, -columns // 6 :].astype(int)
    assert abs(edge[1:] - edge[:-1]).max() < 40
    assert window.desk.swapper == "none"
    window.sidebar.vtuber.tracking_only.click()
    showing(window, qtbot, Shown.SWAPPED)
    assert window.desk.swapper == "mesh"


def test_commands_over_osc(window: MainWindow, qtbot: QtBot) -> None:
    panel = window.sidebar.vtuber
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        taken = probe.getsockname()[1]
        panel.osc_port.setValue(taken)
        panel.osc.click()
        assert not panel.osc.isChecked()
        assert "taken" in window.stage.banners.banners()[0].message
    panel.osc.click()
    assert panel.osc.isChecked()
    assert not panel.osc_port.isEnabled()
    SimpleUDPClient("127.0.0.1", taken).send_message("/kawari/strength", 0.25)
    qtbot.waitUntil(lambda: window.sidebar.swap.strength.value() == 25, timeout=LONG_MS)
    panel.osc.click()
    assert window.outputs.osc.control is None


class TestVirtualCameraPanel:
    DEVICES = (
        VirtualCameraDevice("Kawari", "v4l2loopback", "/dev/video7"),
        VirtualCameraDevice("Other", "v4l2loopback", "/dev/video8", VirtualCameraState.BUSY),
    )

    def test_device_size_and_rate(self, qtbot: QtBot) -> None:
        before = OutputConfig(True, "/dev/video8", "640x360", 25.0)
        panel = VirtualCameraPanel(before)
        qtbot.addWidget(panel)
        assert panel.config(before) == before  # although nobody has looked for devices yet
        panel.set_devices(self.DEVICES, "install one")
        assert panel.config(before) == before
        assert panel.device.currentText() == "Other (in use)"
        with qtbot.waitSignal(panel.changed):
            panel.device.setCurrentIndex(1)
            panel.device.activated.emit(1)
        panel.set_devices(self.DEVICES[:1], "install one")
        assert panel.config(before).virtual_camera_name == "/dev/video7"

    def test_without_one_it_says_how_to_get_one(self, qtbot: QtBot) -> None:
        panel = VirtualCameraPanel(OutputConfig())
        qtbot.addWidget(panel)
        panel.set_devices([], "Run: make-me-one")
        assert "None is installed" in panel._hint.text()
        panel.on.click()
        assert "make-me-one" in panel._hint.text()

    def test_a_size_that_is_none_is_refused(self) -> None:
        with pytest.raises(UsageError):
            OutputConfig(virtual_camera_size="wide")
