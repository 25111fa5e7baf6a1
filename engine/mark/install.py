"""The random number by which the watermarks of one installation are told from those of others."""

from __future__ import annotations

import contextlib
import json
import secrets
from pathlib import Path

from engine.folders import write_private

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
    with contextlib.suppress(OSError):
        write_private(home / "watermark.json", json.dumps({"install": drawn}).encode())
    return drawn
