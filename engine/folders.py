"""The one folder in which Kawari keeps what belongs to the user.

settings.json, models/, identities/ (consent records and caches), logs/, watermark.json. Deleting it
forgets everything.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """The folder; `KAWARI_HOME` moves it. It is not created here."""
    moved = os.environ.get("KAWARI_HOME")
    return Path(moved).expanduser() if moved else Path(platformdirs.user_data_dir("kawari", appauthor=False))


def private_folder(path: Path) -> Path:
    """Create a folder that only its owner can open (rights 0700 where the system has them).

    Raises:
        OSError: it can't be created.
    """
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.name == "posix":
        path.chmod(0o700)
    return path
