"""Consent: what is asked, what is kept, and taking it back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

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
from engine.identity.library import IdentityLibrary
from engine.identity.picture import open_picture
from engine.swap import make_swapper

pytestmark = pytest.mark.gui
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
    def consents(self, library: IdentityLibrary, bridge: Bridge, sources: Sources, qtbot: QtBot) -> Consents:
        panel = ConsentPanel()
        qtbot.addWidget(panel)
        return Consents(panel, sources, library, bridge, panel)

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
