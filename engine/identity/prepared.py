"""Prepared identities on disk: dataclasses of arrays as `.npz`, without pickles, encrypted if they can be."""

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

from engine.folders import remove_unfinished, write_private
from engine.identity.seal import Seal, UnreadableError, is_sealed

MAX_FILES = 32
"""The least recently used are removed beyond this."""

_PHOTOS = "photos"
_UNREADABLE = (
    OSError, ValueError, KeyError, TypeError, EOFError, zlib.error, zipfile.BadZipFile, UnreadableError,
)  # fmt: skip


class PreparedStore:
    """Files in a folder, readable by their owner only.

    A cache: whatever can't be read or written is prepared again.

    Args:
        folder: made when the first file is written.
        seal: encrypts what is private.
    """

    def __init__(self, folder: Path, seal: Seal) -> None:
        self._folder = folder
        self._seal = seal

    def load(self, key: str, kind: type, *, private: bool = True) -> Any | None:
        """The identity kept under a key, an instance of the dataclass `kind`; None if there is none.

        Args:
            key, kind: see above.
            private: as it was saved.
        """
        path = self._path(key)
        try:
            data = path.read_bytes()
            with _open(self._seal.open(data, path.name) if private else data) as arrays:
                identity = _build(kind, arrays)
        except _UNREADABLE:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return identity

    def save(self, key: str, photos: tuple[str, ...], identity: object, *, private: bool = True) -> bool:
        """Keep an identity; False if it isn't of arrays, there is no room, or it can't be encrypted.

        Args:
            key: names it.
            photos: digests of those it was made of.
            identity: a dataclass of arrays.
            private: it shows somebody; only the built-in face does not.
        """
        arrays = _arrays(identity)
        if arrays is None:
            return False
        buffer = io.BytesIO()
        content: dict[str, Any] = {_PHOTOS: np.array(photos), **arrays}
        np.savez_compressed(buffer, **content)
        data, path = buffer.getvalue(), self._path(key)
        try:
            write_private(path, self._seal.close(data, path.name) if private else data)
            self._limit()
        except (OSError, UnreadableError):
            return False
        return True

    def remove(self, photo: str) -> None:
        """Remove all that was made of a photo, and what can't be read.

        Raises:
            OSError: a file can't be removed.
        """
        remove_unfinished(self._folder)
        for path in self._folder.glob("*.npz"):
            try:
                data = path.read_bytes()
                with _open(self._seal.open(data, path.name) if is_sealed(data) else data) as arrays:
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


def _open(data: bytes) -> Any:
    return np.load(io.BytesIO(data), allow_pickle=False)


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
