"""Model data: the embedded weights and the catalogue of the ones a user may download."""

from __future__ import annotations

import hashlib
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path

from engine.errors import ModelError

EMBEDDED = Path(str(files(__package__))) / "embedded"
CATALOGUE = EMBEDDED.parent / "catalogue.toml"


@cache
def embedded(name: str) -> Path:
    """Path of an embedded file, after its SHA-256 was compared with `embedded/index.toml`.

    Raises:
        ModelError: it is missing, unknown or was changed.
    """
    index = tomllib.loads((EMBEDDED / "index.toml").read_text(encoding="utf-8"))
    entry = index.get(name)
    path = EMBEDDED / name
    if entry is None or not path.is_file():
        raise ModelError(f"The embedded model {name} is missing", "Install Kawari again")
    if hashlib.sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
        raise ModelError(f"The embedded model {name} was changed or is damaged", "Install Kawari again")
    return path
