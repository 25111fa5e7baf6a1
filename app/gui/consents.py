"""Ties the consent records to the panel and the dialog that show them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.gui.bridge import Bridge
from app.gui.consent_library import ConsentLibrary
from app.gui.consent_panel import ConsentPanel
from app.gui.sources import Sources
from engine.identity.library import IdentityLibrary


class Consents(QObject):
    """Reads, exports and revokes on the bridge's look-up thread.

    Args:
        sources: the photos in use; one that is revoked is used no longer.
        window: parent of the dialog.
    """

    failed = Signal(object)
    told = Signal(str, str)
    """Something was done: a message and a detail."""

    def __init__(
        self, panel: ConsentPanel, sources: Sources, library: IdentityLibrary, bridge: Bridge, window: QWidget
    ) -> None:
        super().__init__(window)
        self._panel, self._sources, self._library = panel, sources, library
        self._bridge, self._window = bridge, window
        self.dialog: ConsentLibrary | None = None
        panel.wanted.connect(self.open)
        sources.changed.connect(self.refresh)

    def open(self) -> None:
        """Show the records, beside the window."""
        if self.dialog is None:
            self.dialog = ConsentLibrary(self._window)
            self.dialog.revoke_wanted.connect(self._revoke)
            self.dialog.export_wanted.connect(self._export)
        self.dialog.show()
        self.dialog.raise_()
        self.refresh()

    def refresh(self) -> None:
        """Read the records again."""
        self._do(lambda: list(self._library.consents.records()), self._show)

    def _show(self, records: Any) -> None:
        now = datetime.now(UTC)
        ended = sum(one.expires is not None and one.expires <= now for _, one in records)
        self._panel.set_count(len(records), ended)
        if self.dialog is not None:
            known = {source.photo.digest: source for source in self._sources.all_sources}
            self.dialog.show_records(records, known, now)

    def _revoke(self, digest: str) -> None:
        self._sources.forget(digest)

        def gone(_: object) -> None:
            self.told.emit(self.tr("Consent taken back; all that was made of the photo is gone"), "")
            self.refresh()

        self._do(lambda: self._library.revoke(digest), gone)

    def _export(self, path: Path) -> None:
        from engine.identity.consent_page import write_consent_page

        self._do(
            lambda: write_consent_page(path, self._library.consents),
            lambda _: self.told.emit(
                self.tr("Records written; the page holds names, so keep it to yourself"), str(path)
            ),
        )

    def _do(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        def answer(result: Any) -> None:
            if isinstance(result, Exception):
                self.failed.emit(result)
            else:
                done(result)

        self._bridge.look_up(work, answer)
