"""The panels, each by itself, driven as a person would."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QPixmap
from PySide6.QtWidgets import QFileDialog, QMessageBox
from pytestqt.qtbot import QtBot

from app.gui.badge_panel import BadgePanel
from app.gui.banner import BannerStack
from app.gui.camera_panel import DEMO, CameraPanel
from app.gui.consent_details import Answer
from app.gui.consent_dialog import ConsentDialog
from app.gui.controls import Controls
from app.gui.face_chooser import FaceChooser
from app.gui.guard_panel import GuardPanel
from app.gui.record_panel import RecordPanel
from app.gui.source_panel import SourcePanel
from app.gui.stage import Stage
from app.gui.status_bar import Figures, StatusBar
from app.gui.swap_panel import SwapPanel
from app.options import CameraConfig
from engine.config import BadgeConfig, BadgeStyle, Corner, GuardConfig, GuardPolicy, SwapConfig, Who
from engine.devices import Camera
from engine.errors import DeviceError, UsageError
from engine.identity.consent import Basis

pytestmark = pytest.mark.gui


class TestBanners:
    def test_an_error_comes_with_its_remedy(self, qtbot: QtBot) -> None:
        stack = BannerStack()
        qtbot.addWidget(stack)
        stack.show_error(DeviceError("The camera is in use", "Close the other program"))
        banner = stack.banners()[0]
        assert (banner.level, banner.message, banner.remedy) == (
            "error", "The camera is in use", "Close the other program",
        )  # fmt: skip

    def test_the_same_message_is_there_once_and_few_in_all(self, qtbot: QtBot) -> None:
        stack = BannerStack()
        qtbot.addWidget(stack)
        for text in ("a", "b", "a", "c", "d", "d"):
            stack.show_message("warn", text)
        assert [banner.message for banner in stack.banners()] == ["d", "c", "a"]

    def test_dismissing(self, qtbot: QtBot) -> None:
        stage = Stage()
        qtbot.addWidget(stage)
        stage.resize(800, 500)
        stage.show()
        stage.banners.show_message("error", "first")
        stage.banners.show_message("warn", "second")
        qtbot.waitUntil(lambda: stage.banners.height() > 60)
        stage.banners.banners()[0].dismiss()
        assert [banner.message for banner in stage.banners.banners()] == ["first"]
        stage.banners.clear("error")
        assert stage.banners.banners() == []
        qtbot.waitUntil(lambda: stage.banners.height() < 10)  # the picture below gets the mouse again


class TestCameraPanel:
    @pytest.fixture
    def panel(self, qtbot: QtBot) -> CameraPanel:
        made = CameraPanel(CameraConfig())
        qtbot.addWidget(made)
        return made

    def test_without_a_camera_the_demo_is_chosen(self, panel: CameraPanel) -> None:
        assert panel.config() == CameraConfig(DEMO)

    def test_the_first_camera_is_chosen_if_none_was_before(self, panel: CameraPanel) -> None:
        panel.set_cameras([Camera(0, "Webcam", "/dev/video0"), Camera(2, "Grabber", "/dev/video2")])
        assert panel.config().camera == "Webcam"

    def test_the_choice_survives_looking_again(self, panel: CameraPanel, qtbot: QtBot) -> None:
        panel.set_cameras([Camera(0, "Webcam"), Camera(2, "Grabber")])
        panel.cameras.setCurrentIndex(1)
        panel.cameras.activated.emit(1)
        panel.set_cameras([Camera(2, "Grabber"), Camera(5, "New")])
        assert panel.config().camera == "Grabber"

    def test_two_of_the_same_name_are_told_apart(self, panel: CameraPanel) -> None:
        panel.set_cameras([Camera(0, "Webcam", "/dev/video0"), Camera(2, "Webcam", "/dev/video2")])
        assert panel.config().camera == "/dev/video0"

    def test_a_clip_can_be_the_camera(self, panel: CameraPanel, qtbot: QtBot) -> None:
        with qtbot.waitSignal(panel.changed):
            panel.select("/clips/one.mp4")
        assert panel.config().camera == "/clips/one.mp4"
        assert panel.cameras.currentText() == "one.mp4"

    def test_a_clip_stays_chosen_when_cameras_are_looked_for(self, qtbot: QtBot, tmp_path: Path) -> None:
        clip = tmp_path / "ü.mp4"
        clip.touch()
        panel = CameraPanel(CameraConfig(str(clip)))
        qtbot.addWidget(panel)
        assert panel.config().camera == str(clip)
        panel.set_cameras([Camera(0, "Webcam")])
        assert panel.config().camera == str(clip)
        assert panel.cameras.currentText() == "ü.mp4"

    def test_a_size_may_be_typed(self, panel: CameraPanel) -> None:
        panel.size_box.setCurrentText("800x600")
        assert panel.config().pixels == (800, 600)
        panel.size_box.setCurrentText("wide")
        with pytest.raises(UsageError):
            panel.config()
        assert panel.stored_config() == CameraConfig(DEMO)


class TestSwapPanel:
    @pytest.fixture
    def panel(self, qtbot: QtBot) -> SwapPanel:
        made = SwapPanel(SwapConfig(strength=0.4, who=Who.ALL))
        qtbot.addWidget(made)
        return made

    def test_shows_and_gives_the_settings(self, panel: SwapPanel) -> None:
        assert panel.swap_config() == SwapConfig("mesh", 0.4, Who.ALL)

    def test_another_swapper_is_offered_chosen_and_kept(self, panel: SwapPanel, qtbot: QtBot) -> None:
        panel.offer([("inswapper_128", "inswapper 128"), ("simswap_256", "SimSwap 256")])
        assert panel.swap_config().swapper == "mesh"
        with qtbot.waitSignal(panel.swapper_changed) as told:
            panel.swapper.setCurrentIndex(2)
            panel.swapper.activated.emit(2)
        assert told.args == ["simswap_256"]
        panel.offer([("inswapper_128", "inswapper 128")])  # it was removed meanwhile
        assert panel.swap_config().swapper == "simswap_256"
        assert [panel.swapper.itemData(i) for i in range(panel.swapper.count())][:2] == [
            "mesh",
            "inswapper_128",
        ]

    def test_strength_by_keyboard(self, panel: SwapPanel, qtbot: QtBot) -> None:
        with qtbot.waitSignal(panel.strength_changed) as changed:
            qtbot.keyClick(panel.strength, Qt.Key.Key_PageUp)
        assert changed.args == [pytest.approx(0.5)]


class TestGuardPanel:
    @pytest.mark.parametrize(
        ("answer", "policy"),
        [
            (QMessageBox.StandardButton.Cancel, GuardPolicy.HOLD),
            (QMessageBox.StandardButton.Ok, GuardPolicy.PASS),
        ],
    )
    def test_pass_through_is_asked_about(
        self, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, answer: object, policy: GuardPolicy
    ) -> None:
        monkeypatch.setattr(QMessageBox, "warning", lambda *_: answer)
        panel = GuardPanel(GuardConfig(hold_s=0.2))
        qtbot.addWidget(panel)
        told: list[GuardConfig] = []
        panel.changed.connect(told.append)
        at = panel.policy.findData(GuardPolicy.PASS)
        panel.policy.setCurrentIndex(at)
        panel.policy.activated.emit(at)
        assert panel.config() == GuardConfig(policy, hold_s=0.2)
        assert [one.policy for one in told] == ([GuardPolicy.PASS] if policy is GuardPolicy.PASS else [])

    def test_a_picture_is_asked_for(self, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
        panel = GuardPanel(GuardConfig())
        qtbot.addWidget(panel)
        told: list[GuardConfig] = []
        panel.changed.connect(told.append)
        at = panel.policy.findData(GuardPolicy.PICTURE)
        with pytest.raises(UsageError, match="no picture"):
            panel.set_policy(GuardPolicy.PICTURE)  # from outside, where nobody can be asked
        for answer in ("", "/pictures/mine.png", ""):
            monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_, path=answer: (path, ""))
            panel.policy.setCurrentIndex(at)
            panel.policy.activated.emit(at)
            assert (panel.config().policy is GuardPolicy.PICTURE) == bool(answer or told)
        assert told == [GuardConfig(GuardPolicy.PICTURE, picture="/pictures/mine.png")] * 2
        panel.set_policy(GuardPolicy.CARD)
        panel.set_policy(GuardPolicy.PICTURE)
        assert panel.config().picture == "/pictures/mine.png"


class TestControls:
    def test_one_button_starts_and_stops(self, qtbot: QtBot) -> None:
        controls = Controls()
        qtbot.addWidget(controls)
        with qtbot.waitSignal(controls.start_wanted):
            qtbot.mouseClick(controls.start, Qt.MouseButton.LeftButton)
        controls.set_running(True)
        with qtbot.waitSignal(controls.stop_wanted):
            qtbot.mouseClick(controls.start, Qt.MouseButton.LeftButton)

    def test_stopping_ends_the_comparison_and_the_cover(self, qtbot: QtBot) -> None:
        controls = Controls()
        qtbot.addWidget(controls)
        controls.set_running(True)
        controls.compare.click()
        controls.panic.click()
        with qtbot.waitSignal(controls.compare_switched) as switched:
            controls.set_running(False)
        assert switched.args == [False]
        assert not controls.panic.isChecked()


class TestRecordPanel:
    def test_showing_a_state_does_not_ask_for_it(self, qtbot: QtBot) -> None:
        panel = RecordPanel()
        qtbot.addWidget(panel)
        asked: list[bool] = []
        panel.record_switched.connect(asked.append)
        panel.set_running(True)
        panel.set_recording(True)
        panel.set_running(False)
        assert asked == []
        assert not panel.record.isChecked()


class TestBadgePanel:
    @pytest.mark.parametrize(
        ("answer", "shown"), [(QMessageBox.StandardButton.Yes, False), (QMessageBox.StandardButton.No, True)]
    )
    def test_doing_without_the_mark_is_asked_about(
        self, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, answer: object, shown: bool
    ) -> None:
        monkeypatch.setattr(QMessageBox, "question", lambda *_: answer)
        panel = BadgePanel(BadgeConfig())
        qtbot.addWidget(panel)
        told: list[BadgeConfig] = []
        panel.changed.connect(told.append)
        panel.badge.click()
        assert panel.config().shown is shown
        assert panel.place.isEnabled() is shown
        assert told == ([] if shown else [BadgeConfig(shown=False)])

    def test_place_and_style(self, qtbot: QtBot) -> None:
        panel = BadgePanel(BadgeConfig(True, Corner.BOTTOM_LEFT, BadgeStyle.WORDS))
        qtbot.addWidget(panel)
        assert panel.config() == BadgeConfig(True, Corner.BOTTOM_LEFT, BadgeStyle.WORDS)
        with qtbot.waitSignal(panel.changed) as changed:
            qtbot.keyClick(panel.style_box, Qt.Key.Key_Up)
        assert changed.args == [BadgeConfig(True, Corner.BOTTOM_LEFT, BadgeStyle.LIGHT)]


class TestStatusBar:
    def test_figures_come_and_go(self, qtbot: QtBot) -> None:
        bar = StatusBar()
        qtbot.addWidget(bar)
        bar.set_figures(Figures(29.7, 41.3, 1, "good"))
        assert bar.fps.text() == "30 fps"
        assert "41 ms" in bar.delay.text()
        assert bar.faces.text() == "1 face"
        bar.set_figures(None)
        assert bar.fps.text() == ""


class TestSourcePanel:
    def test_files_can_be_dropped(self, qtbot: QtBot, tmp_path: Path) -> None:
        panel = SourcePanel()
        qtbot.addWidget(panel)
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(tmp_path / "ü.jpg")), QUrl("https://example.org/x.jpg")])
        button, key = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        event = QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, button, key)
        with qtbot.waitSignal(panel.photos_given) as given:
            panel.dropEvent(event)
        assert given.args == [[tmp_path / "ü.jpg"]]


class TestDialogs:
    def test_consent_needs_an_answer(self, qtbot: QtBot) -> None:
        dialog = ConsentDialog(QPixmap(80, 80))
        qtbot.addWidget(dialog)
        assert not dialog.accept_button.isEnabled()
        dialog.choose(Basis.PERMISSION)
        assert dialog.accept_button.isEnabled()
        assert dialog.answer == Answer(Basis.PERMISSION)

    def test_a_face_is_chosen_by_click(self, qtbot: QtBot) -> None:
        boxes = [(10.0, 10.0, 60.0, 60.0), (120.0, 20.0, 180.0, 90.0)]
        dialog = FaceChooser(np.zeros((100, 200, 3), np.uint8), boxes)
        qtbot.addWidget(dialog)
        dialog.show()
        where = dialog.picture.rect_of(1).center()
        with qtbot.waitSignal(dialog.accepted):
            qtbot.mouseClick(dialog.picture, Qt.MouseButton.LeftButton, pos=where)
        assert dialog.number == 1

    def test_a_face_is_chosen_by_keyboard(self, qtbot: QtBot) -> None:
        boxes = [(10.0, 10.0, 60.0, 60.0), (120.0, 20.0, 180.0, 90.0), (60.0, 20.0, 100.0, 90.0)]
        dialog = FaceChooser(np.zeros((100, 200, 3), np.uint8), boxes)
        qtbot.addWidget(dialog)
        for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left):
            qtbot.keyClick(dialog.picture, key)
        with qtbot.waitSignal(dialog.accepted):
            qtbot.keyClick(dialog.picture, Qt.Key.Key_Return)
        assert dialog.number == 1

    def test_a_click_beside_every_face_chooses_none(self, qtbot: QtBot) -> None:
        dialog = FaceChooser(np.zeros((100, 200, 3), np.uint8), [(10.0, 10.0, 60.0, 60.0)])
        qtbot.addWidget(dialog)
        qtbot.mouseClick(dialog.picture, Qt.MouseButton.LeftButton, pos=QPoint(dialog.picture.width() - 2, 2))
        assert dialog.result() == 0
