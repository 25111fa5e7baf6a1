"""The models a user may add: what is known of them, and the ones that are on this computer."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from engine.catalog.entry import Entry, read_catalogue
from engine.catalog.store import Store
from engine.catalog.trial import try_out
from models import CATALOGUE

__all__ = ["open_store"]


def open_store(home: Path, trial: Callable[[Path], None] = try_out) -> Store:
    """The user's store, with the built-in catalogue and the entries the user added.

    Args:
        home: Kawari's folder, `engine.folders.home()`. Models lie in `models/`, own entries in
            `catalogue/*.toml`; KAWARI_MIRROR names a folder to look into before the network.
        trial: see `Store`.

    Raises:
        ModelError: an entry is wrong.
    """
    entries: dict[str, Entry] = read_catalogue(CATALOGUE)
    for path in sorted((home / "catalogue").glob("*.toml")):
        entries.update(read_catalogue(path))
    mirror = os.environ.get("KAWARI_MIRROR")
    return Store(home / "models", entries, Path(mirror) if mirror else None, trial)
