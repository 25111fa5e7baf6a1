"""The random number by which the watermarks of one installation are told from those of others."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from engine.folders import private_folder

_BITS = 24


def install_id(home: Path) -> int:
    """The 24-bit id, drawn when it is first asked for; it says nothing about person or machine.

    Args:
        home: Kawari's folder; the id lies in `watermark.json`. Where that can't be written, an id
            is drawn for this run alone.
    """
    path = home / "watermark.json"
    try:
        known = json.loads(path.read_text(encoding="utf-8"))["install"]
        if isinstance(known, int) and 0 <= known < 1 << _BITS:
            return known
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return reset_install_id(home)


def reset_install_id(home: Path) -> int:
    """Draw a new id, so that later pictures can't be linked to earlier ones."""
    drawn = secrets.randbits(_BITS)
    path = home / "watermark.json"
    try:
        private_folder(home)
        part = path.with_suffix(".part")
        part.write_text(json.dumps({"install": drawn}), encoding="utf-8")
        part.chmod(0o600)
        part.replace(path)
    except OSError:
        return drawn
    return drawn
