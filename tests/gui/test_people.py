"""Choosing who is swapped with which face: the answer itself, the preview, and the whole window."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from app.gui.main_window import MainWindow
from app.gui.preview import Preview
from app.gui.settings import Settings
from app.gui.wanted import Wanted
from app.options import CameraConfig
from engine.config import Who
from engine.events import Event
from engine.identity.consent import Basis
from engine.identity.library import IdentityLibrary
from engine.track.choice import FaceChoice, Which
from engine.types import Face, Frame, Output, Shown
from tests.gui.test_window import LONG_MS, PATIENT, started, stopped

pytestmark = [pytest.mark.gui, pytest.mark.timeout(300)]


class TestWanted:
    def test_everybody_is_swapped_until_somebody_is_chosen(self) -> None:
        assert Wanted(Who.CHOSEN, worn=2).choice() == FaceChoice(Which.ALL, 2)
        assert Wanted(Who.CHOSEN).choosing
        assert Wanted(Who.LARGEST, 1).choice() == FaceChoice(Which.LARGEST, 1)

    def test_only_one(self) -> None:
        wanted = Wanted(worn=1).only(7)
        assert wanted.choice() == FaceChoice(Which.PERSONS, sources={7: 1})
        assert wanted.only(3).choice() == FaceChoice(Which.PERSONS, sources={3: 1})

    def test_giving_one_a_face_leaves_nobody_out(self) -> None:
        wanted = Wanted(Who.ALL).give(4, 1, present=[2, 4])
        assert wanted.persons == {2: 0, 4: 1}
        assert wanted.give(2, 1, present=[2, 4, 9]).persons == {2: 1, 4: 1}

    def test_the_last_chosen_one_stays(self) -> None:
        wanted = Wanted(Who.ALL).give(4, 1, present=[2, 4])
        assert wanted.leave(2).persons == {4: 1}
        assert wanted.leave(2).leave(4).persons == {4: 1}

    def test_a_face_that_goes(self) -> None:
        wanted = Wanted(Who.CHOSEN, 2, {5: 0, 6: 1, 7: 2}).without(1)
        assert wanted == Wanted(Who.CHOSEN, 1, {5: 0, 6: 0, 7: 1})


def output(shown: Shown = Shown.SWAPPED, size: tuple[int, int] = (100, 200)) -> Output:
    """Person 8 at the left, person 3 at the right."""
    image = np.zeros((*size, 3), np.uint8)

    def face(person: int, x0: float) -> Face:
        corners = np.array([[x0, 20, 0], [x0 + 40, 60, 0]], np.float32)
        return Face(person, corners, 1.0)

    return Output(Frame(0, 0, image), image, (face(3, 150), face(8, 10)), (3, 8), shown)


class TestPreview:
    @pytest.fixture
    def preview(self, qtbot: QtBot) -> Preview:
        made = Preview()
        qtbot.addWidget(made)
        made.resize(400, 200)
        made.show()
        made.show_output(output())
        return made

    def test_a_click_picks_the_person_under_it(self, preview: Preview, qtbot: QtBot) -> None:
        assert preview.persons() == [8, 3]
        assert preview.rect_of(8).getRect() == (20, 40, 80, 80)
        with qtbot.waitSignal(preview.person_picked) as picked:
            qtbot.mouseClick(preview, Qt.MouseButton.LeftButton, pos=QPoint(340, 80))
        assert picked.args[0] == 3
        with qtbot.assertNotEmitted(preview.person_picked):
            qtbot.mouseClick(preview, Qt.MouseButton.LeftButton, pos=QPoint(200, 80))

    def test_keys_step_from_left_to_right(self, preview: Preview, qtbot: QtBot) -> None:
        picked: list[int] = []
        preview.person_picked.connect(lambda person, _: picked.append(person))
        qtbot.keyClick(preview, Qt.Key.Key_Return)
        for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left):
            qtbot.keyClick(preview, key)
            qtbot.keyClick(preview, Qt.Key.Key_Return)
        assert picked == [8, 3, 8, 3]

    @pytest.mark.parametrize("shown", [Shown.HELD, Shown.COVERED])
    def test_nobody_can_be_picked_who_is_not_seen(self, preview: Preview, shown: Shown) -> None:
        preview.show_output(output(shown))
        assert preview.persons() == []
        assert preview.rect_of(8).isEmpty()

    def test_chosen_ones_are_marked_in_the_window_only(self, preview: Preview) -> None:
        plain = preview.grab().toImage()
        picture = output().image.copy()
        preview.set_marks({8: "Face 1"})
        marked = preview.grab().toImage()
        assert marked != plain
        assert np.array_equal(preview.output.image, picture)  # type: ignore[union-attr]
        preview.set_marks({99: "gone"})
        assert preview.grab().toImage() == plain


def choose(window: MainWindow, person: int, text: str) -> None:
    """Take an entry of the menu that a click on the person opens."""
    menu = window.people.menu(person)
    action = next(one for one in menu.actions() if text in one.text().replace("&", ""))
    action.trigger()
    menu.deleteLater()


@pytest.mark.shared
class TestWindow:
    @pytest.fixture
    def window(self, qtbot: QtBot, tmp_path: Path, clips: Path) -> Iterator[MainWindow]:
        settings = Settings(
            camera=CameraConfig(str(clips / "intel_head_pose_female_male.gif")), delay=PATIENT
        )
        made = MainWindow(IdentityLibrary(tmp_path / "identities"), settings=settings)
        made.show()
        yield made
        made.close()

    def swapped(self, window: MainWindow, qtbot: QtBot, count: int, swapped: int) -> Output:
        """A picture with so many people, of whom so many are swapped."""

        def seen() -> bool:
            found = window.stage.preview.output
            return (
                found is not None
                and found.shown is Shown.SWAPPED
                and (len(found.faces), len(found.swapped)) == (count, swapped)
            )

        qtbot.waitUntil(seen, timeout=LONG_MS)
        found = window.stage.preview.output
        assert found is not None
        return found

    def test_only_who_was_clicked_is_swapped(self, window: MainWindow, qtbot: QtBot) -> None:
        panel = window.sidebar.swap
        started(window, qtbot)
        panel.who.setCurrentIndex(panel.who.findData(Who.CHOSEN))
        panel.who.activated.emit(panel.who.currentIndex())
        assert "everybody is swapped" in panel._whom.text()
        found = self.swapped(window, qtbot, 2, 2)
        person = found.faces[0].id
        choose(window, person, "only this person")
        assert self.swapped(window, qtbot, 2, 1).swapped == (person,)
        assert window.stage.preview._marks == {person: "Swapped"}
        assert "as they are" in panel._whom.text()
        choose(window, person, "every face")
        assert panel.who.currentData() is Who.ALL
        self.swapped(window, qtbot, 2, 2)
        stopped(window, qtbot)

    def test_an_interruption_leaves_nobody_unswapped(self, window: MainWindow, qtbot: QtBot) -> None:
        started(window, qtbot)
        choose(window, self.first(window, qtbot), "only this person")
        self.swapped(window, qtbot, 2, 1)
        with qtbot.waitSignal(window.bridge.happened, timeout=LONG_MS, check_params_cb=_is_lost):
            window._switch_camera()
        qtbot.waitUntil(lambda: window.people.wanted.choosing, timeout=LONG_MS)
        self.swapped(window, qtbot, 2, 2)

    def test_two_people_wear_two_faces(self, window: MainWindow, qtbot: QtBot, photos: Path) -> None:
        photo = photos / "uni_man_frontal.jpg"
        qtbot.waitUntil(lambda: bool(window.sources.photos), timeout=LONG_MS)
        window.sidebar.source.another.click()
        assert window.sources.count == 2
        digest = window.sources._photos.read(photo, 1).photo.digest
        window.bridge._library.consents.give(digest, Basis.PERMISSION)
        with qtbot.waitSignal(window.sources.worn, timeout=LONG_MS) as worn:
            window.sidebar.source.photos_given.emit([photo])
        assert worn.args == [1]
        assert window.sources.remembered == ((), ((str(photo), 1),))
        with ThreadPoolExecutor(1) as outside:  # the control server asks from its own threads
            asked = outside.submit(window.desk.faces)
            qtbot.waitUntil(asked.done, timeout=LONG_MS)
        assert [choice.on for choice in asked.result()] == [False, True]
        started(window, qtbot)
        first = self.first(window, qtbot)
        choose(window, first, "Wears face 1")
        found = self.swapped(window, qtbot, 2, 2)
        other = next(face.id for face in found.faces if face.id != first)
        assert window.people.wanted.choice().sources == {first: 0, other: 1}
        assert window.stage.preview._marks == {first: "Face 1", other: "Face 2"}
        window.sidebar.source.removed.emit(0)
        assert window.sources.count == 1
        assert window.people.wanted.choice().sources == {first: 0, other: 0}
        self.swapped(window, qtbot, 2, 2)

    def first(self, window: MainWindow, qtbot: QtBot) -> int:
        """Somebody, while both are in the picture."""
        qtbot.waitUntil(lambda: len(window.stage.preview.persons()) == 2, timeout=LONG_MS)
        return window.stage.preview.persons()[0]


def _is_lost(event: Event) -> bool:
    return event.kind == "choice-lost"
