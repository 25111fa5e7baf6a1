"""The browser page and the control server: on or off, and under which address."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QPushButton, QWidget

from app.gui.widgets import Card, label
from app.options import OutputConfig


class PagePanel(Card):
    """Emits `browser_switched`, which may be refused by setting it back, and `address_wanted`."""

    browser_switched = Signal(bool)
    address_wanted = Signal()

    def __init__(self, config: OutputConfig, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Browser page and control"))
        self.browser = QCheckBox(self.tr("Ser&ve to this computer"))
        self.browser.setChecked(config.browser)
        self.browser.setToolTip(
            self.tr("A page for OBS's Browser source, and control by decks and scripts; this computer only")
        )
        self.address = QLineEdit()
        self.address.setReadOnly(True)
        self.address.setAccessibleName(self.tr("Address of the page, without its secret"))
        self.copy = QPushButton(self.tr("Cop&y"))
        self.copy.setToolTip(self.tr("The page's address with its secret token: whoever has it sees you"))
        self.copy.setAccessibleName(self.tr("Copy the page's address with its secret token"))
        self._hint = label("", "muted", wrap=True)
        row = QHBoxLayout()
        row.addWidget(self.address, 1)
        row.addWidget(self.copy)
        self.body.addWidget(self.browser)
        self.body.addLayout(row)
        self.body.addWidget(self._hint)
        self.browser.toggled.connect(self.browser_switched)
        self.copy.clicked.connect(self.address_wanted)
        self.set_address("")

    def set_browser(self, on: bool) -> None:
        """Show whether the page is served, without switching it."""
        with QSignalBlocker(self.browser):
            self.browser.setChecked(on)

    def set_address(self, address: str) -> None:
        """Show where the page is, without its token; "" while it is not served."""
        self.address.setText(address)
        self.copy.setEnabled(bool(address))
        for widget in (self.address, self.copy):
            widget.setVisible(bool(address))
        self._hint.setText(
            self.tr("Copy it into an OBS Browser source, and keep it to yourself.")
            if address
            else self.tr("For OBS without a virtual camera, a Stream Deck, scripts.")
        )
