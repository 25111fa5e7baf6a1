"""Forgetting everything that Kawari keeps of its user."""

from __future__ import annotations

import shutil
from pathlib import Path

from engine.errors import DeviceError
from engine.folders import remove_unfinished
from engine.keystore import FOLDER as KEYS
from engine.keystore import KeyStore

KEPT = (
    "identities",
    "logs",
    "signing",
    "models",
    "catalogue",
    "settings.json",
    "settings.json.bad",
    "watermark.json",
    "server-token",
    KEYS,
)
"""All that Kawari writes into its folder (`engine.folders.home`)."""


def forget_everything(home: Path, keys: KeyStore | None = None) -> tuple[str, ...]:
    """Remove consent records, prepared identities, settings, logs, keys, models, and the folder.

    Keys that are in the system's key store go, too; where it can't be opened, all else is removed first.

    Only what Kawari itself writes is removed, so that a wrong folder costs nothing.

    Args:
        home: Kawari's folder.
        keys: its secrets; made when not given.

    Returns:
        Names of other files in the folder, which stay; empty if the folder is gone.

    Raises:
        DeviceError: something can't be removed.
    """
    if not home.is_dir():
        return ()
    keys = keys or KeyStore(home)
    try:
        for name in KEPT:
            path = home / name
            if name == KEYS:
                for key in keys.names():
                    keys.delete(key)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        remove_unfinished(home)
        left = tuple(sorted(path.name for path in home.iterdir()))
        if not left:
            home.rmdir()
    except OSError as error:
        raise DeviceError(
            f"{Path(error.filename or home).name} can't be removed: {error.strerror}",
            "Close other programs that use it, and try again",
        ) from None
    return left
