"""Ties the consent records to the panel and the dialog that show them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QWidget

from app.gui.bridge import Bridge
from app.gui.consent_library import ConsentLibrary
from app.gui.consent_panel import ConsentPanel
from app.gui.live_proof import LiveProof, open_installed
from app.gui.sources import Sources
from engine.errors import KawariError
from engine.identity.library import IdentityLibrary

if TYPE_CHECKING:
    from engine.identity.live_match import Compares, Pose
    from engine.sources.base import Source


class Consents(QObject):
    """Reads, exports and revokes on the bridge's look-up thread; proves on the one for what takes long.

    Args:
        camera: gives the camera before which the user proves to be the person in a photo, closed; may raise.
        sources: the photos in use; one that is revoked is used no longer.
        window: parent of the dialog.
    """

    failed = Signal(object)
    told = Signal(str, str)
    """Something was done: a message and a detail."""
    _asked = Signal(str)

    def __init__(
        self,
        panel: ConsentPanel,
        sources: Sources,
        library: IdentityLibrary,
        bridge: Bridge,
        camera: Callable[[], Source],
        window: QWidget,
        recognition: Callable[[], tuple[str, Compares]] = open_installed,
    ) -> None:
        super().__init__(window)
        self._panel, self._sources, self._library = panel, sources, library
        self._bridge, self._camera, self._window = bridge, camera, window
        self._recognition = recognition
        self._proof: LiveProof | None = None
        self.dialog: ConsentLibrary | None = None
        panel.wanted.connect(self.open)
        sources.changed.connect(self.refresh)
        self._asked.connect(self._tell, Qt.ConnectionType.QueuedConnection)

    def open(self) -> None:
        """Show the records, beside the window."""
        if self.dialog is None:
            self.dialog = ConsentLibrary(self._window)
            self.dialog.revoke_wanted.connect(self._revoke)
            self.dialog.export_wanted.connect(self._export)
            self.dialog.proof_wanted.connect(self._prove)
            self.dialog.proof_cancelled.connect(self.cancel)
        self.dialog.show()
        self.dialog.raise_()
        self.refresh()

    def refresh(self) -> None:
        """Read the records again."""
        self._do(lambda: list(self._library.consents.records()), self._show)

    def cancel(self) -> None:
        """End a match that runs; nothing is noted."""
        proof, self._proof = self._proof, None
        if proof is not None:
            proof.cancel()
            self._tell("")
            self.refresh()

    def _prove(self, digest: str) -> None:
        photo = next(one.photo for one in self._sources.all_sources if one.photo.digest == digest)
        try:
            camera = self._camera()
        except KawariError as error:
            self.failed.emit(error)
            return
        consents, ask = self._library.consents, self._ask
        proof = LiveProof(photo, consents, camera, ask, self._recognition)
        self._proof = proof
        self._tell(self.tr("Opening the camera…"))
        self._bridge.examine(proof.run, lambda result: self._proven(proof, result))

    def _ask(self, pose: Pose) -> None:
        """On the matching thread."""
        self._asked.emit(pose.value)

    def _proven(self, proof: LiveProof, result: Any) -> None:
        if proof is not self._proof:
            return
        self._proof = None
        self._tell("")
        if isinstance(result, Exception):
            self.failed.emit(result)
        else:
            self.told.emit(self.tr("It is you: noted in the record"), self.tr("Similarity %.2f") % result)
        self.refresh()

    def _tell(self, text: str) -> None:
        if self.dialog is not None and (self._proof is not None or not text):
            self.dialog.show_asked(text)

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
