"""Consent: what is asked, what is kept, and taking it back."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import cv2
import numpy as np
import pytest
from PySide6.QtCore import QDate, Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app.gui.bridge import Bridge
from app.gui.consent_details import Answer
from app.gui.consent_dialog import ConsentDialog
from app.gui.consent_library import ConsentLibrary
from app.gui.consent_panel import ConsentPanel
from app.gui.consents import Consents
from app.gui.source_panel import Source, SourcePanel
from app.gui.sources import Sources
from engine.identity.consent import Basis, Consent
from engine.identity.embedding import Embedder
from engine.identity.library import IdentityLibrary
from engine.identity.live_match import Pose
from engine.identity.picture import open_picture
from engine.swap import make_swapper
from tests.unit.identity.test_live_match import Played, embedder, frames, to_both_sides

__all__ = ["embedder"]  # a fixture

pytestmark = [pytest.mark.gui, pytest.mark.timeout(300)]
LONG_MS = 60_000
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
ONE, TWO = "a1" * 32, "b2" * 32


def test_the_details_are_optional_and_kept(qtbot: QtBot, tmp_path: Path) -> None:
    form = tmp_path / "signed.pdf"
    form.write_bytes(b"yes, I agree")
    dialog = ConsentDialog(QPixmap(80, 80))
    qtbot.addWidget(dialog)
    dialog.show()
    assert not dialog.details.isVisible()
    dialog.choose(Basis.PERMISSION)  # then it matters whose
    assert dialog.details.isVisible()
    dialog.details.who.setText("Zoë 人")
    qtbot.keyClicks(dialog.details.purpose, "my stream")
    dialog.details.attach(form)
    assert dialog.answer == Answer(Basis.PERMISSION, "Zoë 人", "my stream", None, form)
    dialog.details.ends.click()
    dialog.details.day.setDate(QDate(2031, 12, 31))
    assert dialog.answer.expires == datetime(2032, 1, 1, tzinfo=UTC)

    consents = IdentityLibrary(tmp_path / "identities").consents
    dialog.answer.record(consents, ONE)
    kept = consents.require(ONE)
    assert (kept.basis, kept.who, kept.purpose) == (Basis.PERMISSION, "Zoë 人", "my stream")
    assert kept.last_moment is not None
    assert kept.last_moment.date() == date(2031, 12, 31)
    copy = consents.releases.find(kept.document)
    assert copy is not None
    assert copy.read_bytes() == form.read_bytes()


def test_the_last_day_cannot_be_over(qtbot: QtBot) -> None:
    dialog = ConsentDialog(QPixmap(80, 80))
    qtbot.addWidget(dialog)
    dialog.details.day.setDate(QDate.currentDate().addDays(-3))
    assert dialog.details.day.date() == QDate.currentDate()


def test_ended_records_are_marked(qtbot: QtBot) -> None:
    library = ConsentLibrary()
    qtbot.addWidget(library)
    library.show_records(
        [
            (ONE, Consent(Basis.SELF, NOW)),
            (TWO, Consent(Basis.PERMISSION, NOW, "Ann", "show", NOW + timedelta(days=2), "ff" * 32)),
        ],
        {},
        NOW + timedelta(days=3),
    )
    rows = [library.table.topLevelItem(at) for at in range(library.table.topLevelItemCount())]
    texts = [[row.text(column) for column in range(7)] for row in rows if row is not None]
    assert texts == [
        [ONE[:12], "Myself", "–", "–", "2026-06-01", "–", "–"],
        [TWO[:12], "Permission", "Ann", "show", "2026-06-01", "2026-06-03, ended", "yes"],
    ]
    assert not library.revoke.isEnabled()
    library.table.setCurrentItem(rows[1])
    assert library.revoke.isEnabled()


class TestWithPhotos:
    @pytest.fixture
    def library(self, tmp_path: Path) -> IdentityLibrary:
        return IdentityLibrary(tmp_path / "identities")

    @pytest.fixture
    def bridge(self, library: IdentityLibrary) -> Iterator[Bridge]:
        made = Bridge(library)
        yield made
        made.close()

    @pytest.fixture
    def sources(self, library: IdentityLibrary, bridge: Bridge, qtbot: QtBot) -> Sources:
        panel = SourcePanel()
        qtbot.addWidget(panel)
        return Sources(panel, bridge, library.consents, panel)

    @pytest.fixture
    def camera(self) -> list[Played]:
        """What is before the camera, put in by the test."""
        return []

    @pytest.fixture
    def consents(
        self, library: IdentityLibrary, bridge: Bridge, sources: Sources, camera: list[Played],
        embedder: Embedder, qtbot: QtBot,
    ) -> Consents:  # fmt: skip
        panel = ConsentPanel()
        qtbot.addWidget(panel)
        return Consents(
            panel, sources, library, bridge, lambda: camera[0], panel, lambda: ("judge", embedder)
        )

    @pytest.fixture
    def worn(self, sources: Sources, library: IdentityLibrary, photos: Path, qtbot: QtBot) -> Source:
        """A photo in use, with what the mesh made of it in the caches."""
        path = photos / "uni_man_frontal.jpg"
        source = sources._photos.read(path, 1)
        library.consents.give(source.photo.digest, Basis.FICTIONAL, who="nobody")
        with qtbot.waitSignal(sources.changed, timeout=LONG_MS):
            sources.add([path])
        library.prepare(make_swapper(), [source.photo])
        return source

    def test_taking_back_removes_record_caches_and_use(
        self,
        worn: Source,
        consents: Consents,
        sources: Sources,
        library: IdentityLibrary,
        qtbot: QtBot,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        prepared = tmp_path / "identities" / "prepared"
        assert len(list(prepared.iterdir())) == 1
        consents.open()
        dialog = consents.dialog
        assert dialog is not None
        qtbot.waitUntil(lambda: dialog.table.topLevelItemCount() == 1, timeout=LONG_MS)
        assert dialog.table.topLevelItem(0).text(0) == "uni_man_frontal.jpg"
        dialog.table.setCurrentItem(dialog.table.topLevelItem(0))
        monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.No)
        qtbot.mouseClick(dialog.revoke, Qt.MouseButton.LeftButton)
        assert sources.remembered != ()
        monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.Yes)
        with qtbot.waitSignal(consents.told, timeout=LONG_MS):
            qtbot.mouseClick(dialog.revoke, Qt.MouseButton.LeftButton)
        assert sources.remembered == ()
        assert list(library.consents.records()) == []
        assert list(prepared.iterdir()) == []
        qtbot.waitUntil(lambda: dialog.table.topLevelItemCount() == 0, timeout=LONG_MS)

    def test_the_records_can_be_exported(
        self, worn: Source, consents: Consents, qtbot: QtBot, tmp_path: Path
    ) -> None:
        page = tmp_path / "records ü.html"
        consents.open()
        assert consents.dialog is not None
        with qtbot.waitSignal(consents.told, timeout=LONG_MS):
            consents.dialog.export_wanted.emit(page)
        assert "nobody" in page.read_text(encoding="utf-8")
        with qtbot.waitSignal(consents.failed, timeout=LONG_MS):
            consents.dialog.export_wanted.emit(tmp_path / "missing" / "page.html")

    def test_the_panel_counts(
        self, consents: Consents, library: IdentityLibrary, qtbot: QtBot, photos: Path
    ) -> None:
        digest = open_picture(photos / "uni_man_frontal.jpg").digest
        soon = datetime.now(UTC) + timedelta(milliseconds=50)
        library.consents.give(digest, Basis.SELF, expires=soon)
        library.consents.give(ONE, Basis.SELF)
        qtbot.wait(60)
        panel = consents._panel
        consents.refresh()
        qtbot.waitUntil(lambda: "2 photos" in panel.count.text(), timeout=LONG_MS)
        assert "to 1 of them has ended" in panel.count.text()

    @pytest.fixture
    def own(
        self, sources: Sources, library: IdentityLibrary, clips: Path, tmp_path: Path, qtbot: QtBot
    ) -> Source:
        """A photo in use that is said to show the user: the woman of the clip, elsewhere in it."""
        path = tmp_path / "me.png"
        cv2.imwrite(str(path), next(frames(clips / "lp_d3_closeup_flicker.mp4")))
        source = sources._photos.read(path, 1)
        library.consents.give(source.photo.digest, Basis.SELF)
        with qtbot.waitSignal(sources.changed, timeout=LONG_MS):
            sources.add([path])
        return source

    def opened(self, consents: Consents, qtbot: QtBot) -> ConsentLibrary:
        """The dialog with its only record selected."""
        consents.open()
        dialog = consents.dialog
        assert dialog is not None
        qtbot.waitUntil(lambda: dialog.table.topLevelItemCount() == 1, timeout=LONG_MS)
        dialog.table.setCurrentItem(dialog.table.topLevelItem(0))
        return dialog

    def test_the_user_proves_to_be_the_person(
        self, own: Source, consents: Consents, library: IdentityLibrary, camera: list[Played], qtbot: QtBot,
        clips: Path,
    ) -> None:  # fmt: skip
        camera.append(Played(to_both_sides(clips)))
        dialog = self.opened(consents, qtbot)
        asked: list[str] = []
        consents._asked.connect(asked.append)
        with qtbot.waitSignal(consents.told, timeout=2 * LONG_MS) as told:
            dialog.prove.click()
            assert "Stop" in dialog.prove.text()
        assert "It is you" in told.args[0]
        assert asked[0] == Pose.FRONT.value
        assert len(set(asked)) > 1
        proof = library.consents.require(own.photo.digest).proof
        assert proof is not None
        assert proof.model == "judge"
        qtbot.waitUntil(lambda: "proven" in dialog.table.topLevelItem(0).text(1), timeout=LONG_MS)
        assert camera[0].closed
        dialog.table.setCurrentItem(dialog.table.topLevelItem(0))
        assert not dialog.prove.isEnabled()

    def test_closing_the_records_ends_the_match(
        self, own: Source, consents: Consents, library: IdentityLibrary, camera: list[Played], qtbot: QtBot
    ) -> None:
        camera.append(Played(itertools.repeat(np.zeros((120, 160, 3), np.uint8))))  # type: ignore[arg-type]
        dialog = self.opened(consents, qtbot)
        dialog.prove.click()
        qtbot.waitUntil(lambda: camera[0]._count > 3, timeout=LONG_MS)
        dialog.reject()
        qtbot.waitUntil(lambda: camera[0].closed, timeout=LONG_MS)
        assert library.consents.require(own.photo.digest).proof is None

    def test_only_ones_own_face_can_be_proven(self, worn: Source, consents: Consents, qtbot: QtBot) -> None:
        assert not self.opened(consents, qtbot).prove.isEnabled()
