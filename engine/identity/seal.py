"""Encrypts what is kept of a face, wherever the system has a key store to keep the key in."""

from __future__ import annotations

import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import DeviceError
from engine.keystore import KeyLostError, KeyStore

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY = "identities"
"""The key's name in the key store."""
_MAGIC = b"KWS1"
_NONCE = 12
"""Bytes; what AES-GCM is specified for (NIST SP 800-38D, 5.2.1.1)."""
_KEY_BYTES = 32


class UnreadableError(Exception):
    """It was sealed with another key, was changed, or ought to have been sealed: make it again."""


class Seal:
    """AES-256-GCM with a key from the system's key store. Thread-safe.

    Everything sealed is a cache: what can't be opened is made again from the photos. Where there is no
    key store nothing is encrypted; where there is one that can't be opened, nothing is written.

    Args:
        keys: where the key is kept.
        folders: where the caches are; when a new key is made, what is in them goes.
    """

    def __init__(self, keys: KeyStore, folders: tuple[Path, ...]) -> None:
        self._keys = keys
        self._folders = folders
        self._lock = threading.Lock()
        self._asked = False
        self._key: bytes | None = None
        self._problem = ""

    def close(self, data: bytes, name: str) -> bytes:
        """What may be written.

        Args:
            data: what is to be kept.
            name: of the file; it can't be opened under another.

        Raises:
            UnreadableError: there is a key store, but it can't be opened: write nothing.
        """
        key = self._opened()
        if key is None:
            return data
        nonce = secrets.token_bytes(_NONCE)
        return _MAGIC + nonce + _cipher(key).encrypt(nonce, data, name.encode())

    def open(self, data: bytes, name: str) -> bytes:
        """What `close` was given.

        Raises:
            UnreadableError: see there.
        """
        key = self._opened()
        if (key is not None) is not is_sealed(data):
            raise UnreadableError("it is not encrypted, or its key is gone")
        return data if key is None else _decrypt(key, data, name)

    def _opened(self) -> bytes | None:
        """The key, None where no key store is; asked for once, since asking takes time."""
        with self._lock:
            if not self._asked:
                self._asked = True
                try:
                    self._key = self._find()
                except DeviceError as error:
                    self._problem = str(error)
            if self._problem:
                raise UnreadableError(self._problem)
            return self._key

    def _find(self) -> bytes | None:
        try:
            key = self._keys.get(KEY)
        except KeyLostError:
            key = None
        if key is not None:
            return key
        if not self._keys.available().system:
            return None
        key = secrets.token_bytes(_KEY_BYTES)
        self._keys.set(KEY, key)
        for folder in self._folders:
            for path in folder.glob("*"):
                path.unlink(missing_ok=True)
        return key


def is_sealed(data: bytes) -> bool:
    """Whether a file's content is encrypted."""
    return data.startswith(_MAGIC)


def _decrypt(key: bytes, data: bytes, name: str) -> bytes:
    from cryptography.exceptions import InvalidTag

    start = len(_MAGIC)
    nonce, rest = data[start : start + _NONCE], data[start + _NONCE :]
    try:
        return _cipher(key).decrypt(nonce, rest, name.encode())
    except (InvalidTag, ValueError) as error:
        raise UnreadableError("it was changed, or sealed with another key") from error


def _cipher(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # 0.05 s

    return AESGCM(key)
