"""The secret that programs show to be let in."""

from __future__ import annotations

import secrets
from pathlib import Path

from engine.errors import DeviceError
from engine.folders import write_private

_FILE = "server-token"
_BYTES = 24
_SHORTEST = 16


def load_token(home: Path) -> str:
    """The token kept in Kawari's folder (0600), made at the first call; delete the file for a new one.

    It stays the same from start to start, so that what was set up once in OBS or on a Stream Deck goes on
    working.

    Raises:
        DeviceError: it can't be kept.
    """
    path = home / _FILE
    try:
        if path.is_file():
            path.chmod(0o600)
            token = path.read_text(encoding="ascii", errors="replace").strip()
            if len(token) >= _SHORTEST and token.isascii():
                return token
        token = secrets.token_urlsafe(_BYTES)
        write_private(path, token.encode() + b"\n")
    except OSError as error:
        raise DeviceError(
            "The server's token can't be kept in Kawari's folder", "Check the folder's rights"
        ) from error
    return token
