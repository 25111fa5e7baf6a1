"""Files that prove a consent, such as a signed release form: copies, known by their SHA-256."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from pathlib import Path

from engine.errors import DeviceError, InputError
from engine.folders import write_private

LARGEST = 20_000_000
"""Bytes; a scan of a few pages is far smaller."""
_ENDING = re.compile(r"\.[a-z0-9]{1,8}")


class ReleaseForms:
    """Copies in a folder, readable by their owner only. They are not encrypted: no key may lose them.

    Args:
        folder: made when the first one is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, path: Path) -> str:
        """Copy a file of any kind; its SHA-256 (hex), what `Consent.document` takes.

        Raises:
            InputError: it can't be read, is empty, or larger than `LARGEST`.
            DeviceError: the copy can't be written.
        """
        try:
            with path.open("rb") as stream:
                data = stream.read(LARGEST + 1)
        except OSError as error:
            raise InputError(
                f"The release form {path.name} can't be read: {error.strerror}", "Check the path"
            ) from error
        if not data:
            raise InputError(f"The release form {path.name} is empty", "Choose the signed document")
        if len(data) > LARGEST:
            limit = f"more than {LARGEST // 1_000_000} MB"
            raise InputError(f"The release form {path.name} has {limit}", "Scan it in a lower resolution")
        digest = hashlib.sha256(data).hexdigest()
        ending = path.suffix.lower() if _ENDING.fullmatch(path.suffix.lower()) else ""
        try:
            write_private(self._folder / f"{digest}{ending}", data)
        except OSError as error:
            raise DeviceError(
                f"The release form can't be kept ({error.strerror})", "Make room on the disk"
            ) from error
        return digest

    def find(self, digest: str) -> Path | None:
        """The copy; None if there is none, or it was changed since."""
        for path in self._folder.glob(f"{digest}*"):
            if hashlib.sha256(path.read_bytes()).hexdigest() == digest:
                return path
        return None

    def remove_all_but(self, needed: Collection[str]) -> None:
        """Remove the copies whose digests are not in `needed`.

        Raises:
            OSError: one can't be removed.
        """
        for path in self._folder.glob("*"):
            if path.name.partition(".")[0] not in needed:
                path.unlink(missing_ok=True)
