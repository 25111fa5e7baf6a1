"""A watermark key of one's own, beside the public one that every Kawari knows.

Anybody can put the public mark on a picture. The private one takes the key, so it tells its owner, and
those to whom they give it, that a picture is really theirs.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from engine.errors import UsageError
from engine.keystore import KeyStore

_NAME = "watermark"
_BYTES = 32


def private_key(home: Path) -> bytes | None:
    """The key, None if there is none.

    Args:
        home: Kawari's folder.

    Raises:
        DeviceError: it is kept in the system's key store, which is locked or has lost it.
    """
    return KeyStore(home).get(_NAME)


def new_private_key(home: Path) -> bool:
    """Draw one; streams that begin from now on carry its mark, too.

    Returns:
        True if it is in the system's key store, False if in a file of the owner's.

    Raises:
        UsageError: there is one already.
        DeviceError: it can't be kept.
    """
    store = KeyStore(home)
    if _NAME in store.names():
        raise UsageError("There is a watermark key already", "Remove it first, or keep using it")
    return store.set(_NAME, secrets.token_bytes(_BYTES))


def remove_private_key(home: Path) -> None:
    """Forget it: what it marked can only be told by those who have a copy.

    Raises:
        DeviceError: it can't be removed.
    """
    KeyStore(home).delete(_NAME)


def to_text(key: bytes) -> str:
    """The key as hexadecimal digits."""
    return key.hex()


def from_text(text: str) -> bytes:
    """Inverse of `to_text`.

    Raises:
        UsageError: it is no key.
    """
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        remedy = f"Give the {2 * _BYTES} digits that `kawari key show` prints, or a file with them"
        raise UsageError("This is no watermark key", remedy)
    return key
