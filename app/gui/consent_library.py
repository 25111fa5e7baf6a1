"""The consent records: who allowed which face to be used; export as a page, take back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHeaderView,
    QMessageBox,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.gui import theme
from app.gui.source_panel import Source, thumbnail
from app.gui.widgets import label, restyle
from engine.identity.consent import Basis, Consent

Records = Sequence[tuple[str, Consent]]
_SIDE = 34
_SHORT = 12
_PURPOSE = 3
"""The column that takes what room there is."""
_DIGEST = Qt.ItemDataRole.UserRole


class ConsentLibrary(QDialog):
    """Shows records; emits `revoke_wanted` or `proof_wanted` with a photo's digest, `export_wanted` with a
    path, `proof_cancelled`."""

    revoke_wanted = Signal(str)
    export_wanted = Signal(Path)
    proof_wanted = Signal(str)
    proof_cancelled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Consent records"))
        self.resize(820, 420)
        self._provable: Collection[str] = ()
        self.table = QTreeWidget()
        self.table.setRootIsDecorated(False)
        self.table.setUniformRowHeights(True)
        self.table.setIconSize(QSize(_SIDE, _SIDE))
        self.table.setAccessibleName(self.tr("Consent records"))
        self.table.setHeaderLabels(
            [
                self.tr("Photo"), self.tr("Ground"), self.tr("By"), self.tr("Purpose"), self.tr("Given"),
                self.tr("Last day"), self.tr("Form"),
            ]
        )  # fmt: skip
        self.table.header().setStretchLastSection(False)
        self.table.header().setSectionResizeMode(_PURPOSE, QHeaderView.ResizeMode.Stretch)
        self.hint = label("", "muted", wrap=True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.revoke = buttons.addButton(self.tr("Take &back…"), QDialogButtonBox.ButtonRole.DestructiveRole)
        self.export = buttons.addButton(self.tr("&Export page…"), QDialogButtonBox.ButtonRole.ActionRole)
        self.prove = buttons.addButton("", QDialogButtonBox.ButtonRole.ActionRole)
        self.prove.setToolTip(
            self.tr("Compares you before the camera with the photo, while you turn your head to both sides")
        )
        self._proving = False
        theme.set_button_icon(self.revoke, "trash", "danger")
        buttons.rejected.connect(self.reject)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(20, 18, 20, 16)
        rows.setSpacing(12)
        rows.addWidget(label(self.tr("Who allowed which face to be used"), "title"))
        rows.addWidget(self.table, 1)
        rows.addWidget(self.hint)
        rows.addWidget(buttons)
        self.table.itemSelectionChanged.connect(self._selected)
        self.revoke.clicked.connect(self._revoke)
        self.export.clicked.connect(self._export)
        self.prove.clicked.connect(self._prove)
        self.show_asked("")

    def show_records(
        self, records: Records, known: Mapping[str, Source], now: datetime | None = None
    ) -> None:
        """Show these.

        Args:
            records: digest of the photo, and its record.
            known: photos in use by their digests; of all others no name and no picture is kept.
            now: decides what has ended; the present if not given.
        """
        now = now or datetime.now(UTC)
        self.table.clear()
        for digest, consent in records:
            ended = consent.expires is not None and consent.expires <= now
            self.table.addTopLevelItem(self._item(digest, consent, known.get(digest), ended=ended))
        for column in set(range(self.table.columnCount())) - {_PURPOSE}:
            self.table.resizeColumnToContents(column)
        self._provable = {
            digest
            for digest, consent in records
            if digest in known and consent.basis is Basis.SELF and not consent.proof
        }
        self.hint.setText(
            self.tr("Only records are kept, no photos: a photo that is not in use shows as its fingerprint.")
            if records
            else self.tr("There are none. Photos of your own are asked about once and listed here.")
        )
        self.export.setEnabled(bool(records))
        self._selected()

    def show_asked(self, text: str) -> None:
        """Show what the person should do before the camera; "" when the match is over."""
        self._proving = bool(text)
        self.prove.setText(self.tr("Stop the match") if self._proving else self.tr("&Prove it is me…"))
        restyle(self.hint, "role", "heading" if text else "muted")
        if text:
            self.hint.setText(text)
        self._selected()

    def confirm_revoke(self) -> bool:
        """Ask whether the consent is really taken back."""
        answer = QMessageBox.question(
            self,
            self.tr("Take the consent back?"),
            self.tr(
                "The record goes, and everything that was made of the photo. The photo itself stays where "
                "it is."
            ),
        )
        return answer == QMessageBox.StandardButton.Yes

    def _item(self, digest: str, consent: Consent, source: Source | None, *, ended: bool) -> QTreeWidgetItem:
        last = "" if consent.last_moment is None else f"{consent.last_moment:%Y-%m-%d}"
        name = digest[:_SHORT] if source is None or source.path is None else source.path.name
        item = QTreeWidgetItem(
            [
                name, self._ground(consent), consent.who or "–", consent.purpose or "–",
                f"{consent.given:%Y-%m-%d}", self.tr("%s, ended") % last if ended else last or "–",
                self.tr("yes") if consent.document else "–",
            ]
        )  # fmt: skip
        item.setData(0, _DIGEST, digest)
        item.setSizeHint(_PURPOSE, QSize(0, _SIDE + 8))
        if source is not None:
            item.setIcon(0, QIcon(thumbnail(source.photo, _SIDE)))
        if ended:
            item.setForeground(5, theme.colour("warn"))
        return item

    def _ground(self, consent: Consent) -> str:
        text = {
            Basis.SELF: self.tr("Myself"),
            Basis.PERMISSION: self.tr("Permission"),
            Basis.FICTIONAL: self.tr("Fictional"),
            Basis.PUBLIC_DOMAIN: self.tr("Public domain"),
        }[consent.basis]
        return self.tr("%s (proven)") % text if consent.proof else text

    def reject(self) -> None:
        """Closing ends a match."""
        if self._proving:
            self.proof_cancelled.emit()
        super().reject()

    def _selected(self) -> None:
        self.revoke.setEnabled(self._digest() is not None)
        self.prove.setEnabled(self._proving or self._digest() in self._provable)

    def _digest(self) -> str | None:
        items = self.table.selectedItems()
        return items[0].data(0, _DIGEST) if items else None

    def _prove(self) -> None:
        if self._proving:
            self.proof_cancelled.emit()
        else:
            self.proof_wanted.emit(self._digest())

    def _revoke(self) -> None:
        digest = self._digest()
        if digest is not None and self.confirm_revoke():
            self.revoke_wanted.emit(digest)

    def _export(self) -> None:
        name, _ = QFileDialog.getSaveFileName(
            self, self.tr("Export the records"), "consents.html", self.tr("Page (*.html)")
        )
        if name:
            self.export_wanted.emit(Path(name))
