"""Secrets in the system's key store, or in files of the owner's where there is none.

The system's store is whatever the `keyring` package finds: Keychain, Windows' Credential Locker,
Secret Service, KWallet. It is loaded only when a secret is kept there, or is to be.

For each secret there is a small file `keys/NAME.json` (0600) in Kawari's folder. It says where the
secret is: `{"entry": …}` names the entry in the system's store, `{"secret": …}` is the secret itself.
"""

from __future__ import annotations

import base64
import json
import queue
import re
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from engine.errors import DeviceError, UsageError
from engine.folders import write_private

FOLDER = "keys"
"""Within Kawari's folder."""
PATIENCE_S = 30.0
"""How long a store may take to answer; it may ask its user for a password meanwhile."""

_SERVICE = "kawari"
_RECOMMENDED = 1
"""Priority, as `keyring` rates its backends, from which on it recommends one; below are plain files."""
_NONE_HERE = "this system offers no key store to this program"
ResultT = TypeVar("ResultT")


class KeyLostError(DeviceError):
    """A key was kept in the system's store, which does not have it any more."""


class Vault(Protocol):
    """What is used of a `keyring` backend."""

    def get_password(self, service: str, username: str) -> str | None:
        """The secret, None if there is none."""

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep a secret; it replaces an earlier one."""

    def delete_password(self, service: str, username: str) -> None:
        """Remove a secret."""


@dataclass(frozen=True, slots=True)
class Available:
    """What the system offers.

    Attributes:
        system: there is a key store of the system's.
        detail: its name, or why there is none.
    """

    system: bool
    detail: str


class KeyStore:
    """Named secrets. Thread-safe as far as the system's store is.

    Args:
        home: Kawari's folder.
        vault: the store; what `keyring` recommends when not given.
        patience_s: seconds to wait for the store's answer.
    """

    def __init__(self, home: Path, vault: Vault | None = None, patience_s: float = PATIENCE_S) -> None:
        self._folder = home / FOLDER
        self._given = vault
        self._patience_s = patience_s

    def available(self) -> Available:
        """Whether secrets would go into a key store of the system's. Asks nobody for a password."""
        try:
            vault, detail = self._bounded(self._find)
        except DeviceError as error:
            return Available(False, error.message)
        return Available(vault is not None, detail)

    def get(self, name: str) -> bytes | None:
        """The secret; None if none was ever kept under that name.

        Raises:
            KeyLostError: it was kept, but the system's store has lost it.
            DeviceError: the system's store is locked or gone.
        """
        note = self._read(name)
        if "secret" in note:
            return _decode(name, note["secret"])
        if "entry" not in note:
            return None
        text = self._with_vault(lambda vault: vault.get_password(_SERVICE, note["entry"]))
        if text is None:
            raise KeyLostError(
                f"The system's key store has no longer the key “{name}”",
                "What was encrypted with it is lost; set the key again",
            )
        return _decode(name, text)

    def set(self, name: str, secret: bytes) -> bool:
        """Keep a secret; it replaces an earlier one.

        Returns:
            True if it is in the system's key store, False if in a file of the owner's.

        Raises:
            DeviceError: the store is there but does not take it, or the disk is full.
        """
        encoded = base64.b64encode(secret).decode()
        entry = str(self._read(name).get("entry") or secrets.token_hex(8))
        system = self.available().system
        if system:
            self._with_vault(lambda vault: _keep(vault, entry, encoded))
        self._write(name, {"entry": entry} if system else {"secret": encoded})
        return system

    def delete(self, name: str) -> None:
        """Remove a secret; it is no error if there is none.

        Raises:
            DeviceError: the system's store can't be opened, or the file can't be removed.
        """
        entry = self._read(name).get("entry")
        if entry:
            self._with_vault(lambda vault: _remove(vault, entry))
        try:
            self._path(name).unlink(missing_ok=True)
        except OSError as error:
            raise DeviceError(f"The key can't be removed ({error.strerror})", "Check the disk") from error

    def names(self) -> tuple[str, ...]:
        """Of all secrets."""
        return tuple(sorted(path.stem for path in self._folder.glob("*.json")))

    def _with_vault(self, use: Callable[[Vault], ResultT]) -> ResultT:
        def find_and_use() -> ResultT:
            vault, detail = self._find()
            if vault is None:
                raise DeviceError(f"The system's key store can't be opened: {detail}", _UNLOCK)
            return use(vault)

        return self._bounded(find_and_use)

    def _find(self) -> tuple[Vault | None, str]:
        """The store and its name, or None and why there is none."""
        if self._given is not None:
            return self._given, type(self._given).__name__
        import keyring  # 0.15 s

        backend = keyring.get_keyring()
        if backend.priority < _RECOMMENDED:
            return None, _NONE_HERE
        return backend, str(backend.name)

    def _bounded(self, call: Callable[[], ResultT]) -> ResultT:
        """The call's result; a store that waits for a person who is not there is given up."""
        answers: queue.SimpleQueue[ResultT | Exception] = queue.SimpleQueue()

        def work() -> None:
            try:
                answers.put(call())
            except Exception as error:  # noqa: BLE001 - backends raise what their systems raise
                answers.put(error)

        threading.Thread(target=work, name="key store", daemon=True).start()
        try:
            answer = answers.get(timeout=self._patience_s)
        except queue.Empty:
            message = f"The system's key store gave no answer within {self._patience_s:g} s"
            raise DeviceError(message, _UNLOCK) from None
        if isinstance(answer, DeviceError):
            raise answer
        if isinstance(answer, Exception):
            message = f"The system's key store can't be opened ({type(answer).__name__})"
            raise DeviceError(message, _UNLOCK) from answer
        return answer

    def _read(self, name: str) -> dict[str, str]:
        try:
            note = json.loads(self._path(name).read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise DeviceError(f"The note of the key “{name}” can't be read", _AGAIN) from error
        if not isinstance(note, dict) or not all(isinstance(each, str) for each in note.values()):
            raise DeviceError(f"The note of the key “{name}” can't be read", _AGAIN)
        return note

    def _write(self, name: str, note: dict[str, str]) -> None:
        try:
            write_private(self._path(name), json.dumps(note).encode())
        except OSError as error:
            raise DeviceError(f"The key can't be kept ({error.strerror})", "Free some space") from error

    def _path(self, name: str) -> Path:
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,40}", name):
            raise UsageError(f"{name!r} can't name a key", "Use small letters, digits and hyphens")
        return self._folder / f"{name}.json"


_UNLOCK = "Unlock the system's key store (log in to the desktop), and try again"
_AGAIN = "Remove the file in the folder keys, and set the key again"


def _decode(name: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise DeviceError(f"The key “{name}” is damaged", _AGAIN) from error


def _keep(vault: Vault, entry: str, encoded: str) -> None:
    vault.set_password(_SERVICE, entry, encoded)
    if vault.get_password(_SERVICE, entry) != encoded:  # `keyring`'s null backend forgets silently
        raise DeviceError("The system's key store does not keep what it is given", _UNLOCK)


def _remove(vault: Vault, entry: str) -> None:
    if vault.get_password(_SERVICE, entry) is not None:
        vault.delete_password(_SERVICE, entry)
