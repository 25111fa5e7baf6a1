"""A key store for tests: a `keyring` backend that keeps what it is given in one file.

PYTHON_KEYRING_BACKEND=tests.keyring_in_a_file.Keyring and KAWARI_TEST_KEYRING=FILE select it, also for
other processes.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import keyring.backend

BACKEND = f"{__name__}.Keyring"
FILE = "KAWARI_TEST_KEYRING"


class Keyring(keyring.backend.KeyringBackend):
    priority = 5  # type: ignore[assignment]

    def get_password(self, service: str, username: str) -> str | None:
        return self._read().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._write({**self._read(), f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        entries = self._read()
        del entries[f"{service}/{username}"]
        self._write(entries)

    def _read(self) -> dict[str, str]:
        path = Path(os.environ[FILE])
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def _write(self, entries: dict[str, str]) -> None:
        Path(os.environ[FILE]).write_text(json.dumps(entries))
