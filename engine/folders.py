"""The one folder in which Kawari keeps what belongs to the user.

settings.json, models/, identities/ (consent records and caches), logs/, watermark.json. Deleting it
forgets everything.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import platformdirs

_UNFINISHED = ".new-"


def home() -> Path:
    """The folder; `KAWARI_HOME` moves it. It is not created here."""
    moved = os.environ.get("KAWARI_HOME")
    return Path(moved).expanduser() if moved else Path(platformdirs.user_data_dir("kawari", appauthor=False))


def private_folder(path: Path) -> Path:
    """Create a folder that only its owner can open (rights 0700 where the system has them).

    Folders above it that are missing are made the same way; those that exist stay as they are.

    Raises:
        OSError: it can't be created.
    """
    for folder in (*reversed(path.parents), path):
        folder.mkdir(exist_ok=True, mode=0o700)
    if os.name == "posix":
        path.chmod(0o700)
    return path


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read (0600), all or nothing; its folder is made (0700).

    Raises:
        OSError: it can't be written; nothing is left behind.
    """
    private_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=_UNFINISHED, dir=path.parent)  # made with 0600
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def remove_unfinished(folder: Path) -> None:
    """Remove what `write_private` has left in a folder when its process was killed.

    Raises:
        OSError: something can't be removed.
    """
    for path in folder.glob(f"{_UNFINISHED}*"):
        path.unlink(missing_ok=True)
