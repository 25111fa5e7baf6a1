"""Prepared identities on disk: dataclasses of arrays as `.npz`, without pickles."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.folders import write_private

MAX_FILES = 32
"""The least recently used are removed beyond this."""

_PHOTOS = "photos"
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, EOFError, zlib.error, zipfile.BadZipFile)


class PreparedStore:
    """Files in a folder, readable by their owner only.

    A cache: whatever can't be read or written is prepared again.

    Args:
        folder: made when the first file is written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, key: str, kind: type) -> Any | None:
        """The identity kept under a key, an instance of the dataclass `kind`; None if there is none."""
        path = self._path(key)
        try:
            with np.load(path, allow_pickle=False) as arrays:
                identity = _build(kind, arrays)
        except _UNREADABLE:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return identity

    def save(self, key: str, photos: tuple[str, ...], identity: object) -> bool:
        """Keep an identity made of the photos with these digests; False if it isn't of arrays, or no room."""
        arrays = _arrays(identity)
        if arrays is None:
            return False
        buffer = io.BytesIO()
        content: dict[str, Any] = {_PHOTOS: np.array(photos), **arrays}
        np.savez_compressed(buffer, **content)
        try:
            write_private(self._path(key), buffer.getvalue())
            self._limit()
        except OSError:
            return False
        return True

    def remove(self, photo: str) -> None:
        """Remove all that was made of a photo, and what can't be read.

        Raises:
            OSError: a file can't be removed.
        """
        for path in self._folder.glob("*.npz"):
            try:
                with np.load(path, allow_pickle=False) as arrays:
                    concerned = photo in arrays[_PHOTOS]
            except _UNREADABLE:
                concerned = True
            if concerned:
                path.unlink(missing_ok=True)

    def _limit(self) -> None:
        files = sorted(self._folder.glob("*.npz"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in files[MAX_FILES:]:
            path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.npz"


def _arrays(identity: object) -> dict[str, NDArray[Any]] | None:
    """Fields as `.name`; tuples as their length `.name:` and `.name:0`, `.name:1` …; else None."""
    if not dataclasses.is_dataclass(identity) or isinstance(identity, type):
        return None
    arrays: dict[str, NDArray[Any]] = {}
    for field in dataclasses.fields(identity):
        value, name = getattr(identity, field.name), f".{field.name}"
        parts = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(each, np.ndarray) and not each.dtype.hasobject for each in parts):
            return None
        if value is parts:
            arrays[f"{name}:"] = np.array(len(parts))
            arrays |= {f"{name}:{place}": each for place, each in enumerate(parts)}
        else:
            arrays[name] = value
    return arrays


def _build(kind: type, arrays: Any) -> Any:
    """The inverse of `_arrays`; raises KeyError, TypeError or ValueError for anything else."""
    used = {_PHOTOS}
    values: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        name = f".{field.name}"
        if name in arrays:
            values[field.name] = arrays[name]
            used.add(name)
        else:
            parts = [f"{name}:{place}" for place in range(int(arrays[f"{name}:"]))]
            values[field.name] = tuple(arrays[part] for part in parts)
            used.update((f"{name}:", *parts))
    if used != set(arrays.files):
        raise ValueError(set(arrays.files) - used)
    return kind(**values)
