"""Windows in the product's own look."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication

from app.gui import theme


@pytest.fixture(scope="session")
def qapp(qapp: QApplication) -> QApplication:
    theme.apply(qapp)
    return qapp
