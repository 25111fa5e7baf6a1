"""What the window remembers: one JSON file with a schema version.

Reading never fails: a damaged file is put aside as `settings.json.bad`, unknown or disallowed
values are left at their defaults, and what happened is returned as notes for the user. Writing is
atomic, so that a crash leaves either the old or the new file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.options import CameraConfig, OutputConfig, SoundConfig, from_stored, to_stored
from engine.config import (
    BadgeConfig,
    Checked,
    DelayConfig,
    GuardConfig,
    GuardPolicy,
    NeuralConfig,
    SwapConfig,
    setting,
)
from engine.folders import home, write_private

VERSION = 2
Stored = dict[str, Any]
Remembered = tuple[tuple[tuple[str, int], ...], ...]
"""Of each face its photos: path, and number of the face in it. None for the built-in face."""
Migrations = Mapping[int, Callable[[Stored], Stored]]


def _second(stored: Stored) -> Stored:
    """The badge got a section of its own, and there may be several faces."""
    output = stored.get("output")
    if isinstance(output, dict) and "badge" in output:
        stored = {**stored, "badge": {"shown": output["badge"]}}
    return {**stored, "faces": [stored.get("sources")]}


MIGRATIONS: Migrations = {1: _second}
"""Schema version → what turns a file of that version into one of the next."""


@dataclass(frozen=True)
class WindowConfig(Checked):
    """The window's own state."""

    width: int = setting(1280, "width of the window", low=320, high=16384)
    height: int = setting(800, "height of the window", low=240, high=16384)
    maximised: bool = setting(False, "whether it fills the screen")


@dataclass(frozen=True)
class Settings:
    """All that is remembered from one start to the next.

    Attributes:
        faces: the photos of each face, each a path and the number of the face in it (from 1, the largest);
            whether they may be used is kept by `engine.identity.consent`, not here.
    """

    swap: SwapConfig = field(default_factory=SwapConfig)
    neural: NeuralConfig = field(default_factory=NeuralConfig)
    guard: GuardConfig = field(default_factory=GuardConfig)
    badge: BadgeConfig = field(default_factory=BadgeConfig)
    delay: DelayConfig = field(default_factory=DelayConfig)
    camera: CameraConfig = field(default_factory=CameraConfig)
    output: OutputConfig = field(default_factory=OutputConfig)
    sound: SoundConfig = field(default_factory=SoundConfig)
    window: WindowConfig = field(default_factory=WindowConfig)
    faces: Remembered = ()


_SECTIONS: dict[str, type] = {
    "swap": SwapConfig,
    "neural": NeuralConfig,
    "guard": GuardConfig,
    "badge": BadgeConfig,
    "delay": DelayConfig,
    "camera": CameraConfig,
    "output": OutputConfig,
    "sound": SoundConfig,
    "window": WindowConfig,
}


def default_path() -> Path:
    """Where the file is kept."""
    return home() / "settings.json"


def load(path: Path) -> tuple[Settings, list[str]]:
    """The remembered settings, and a note for each thing that could not be used."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return Settings(), []
    except OSError as error:
        return Settings(), [f"The settings can't be read ({error.strerror}); the defaults are used"]
    try:
        stored = json.loads(text)
        version = stored["version"]
        if not isinstance(version, int) or version < 1:
            raise ValueError(version)
    except (ValueError, KeyError, TypeError, RecursionError):
        return Settings(), [_put_aside(path)]
    if version > VERSION:
        return Settings(), ["The settings were written by a newer Kawari; the defaults are used"]
    return _from_json(migrate(stored))


def save(path: Path, settings: Settings) -> None:
    """Write the settings, readable by their owner only, all or nothing.

    Raises:
        OSError: the folder can't be written to.
    """
    stored: Stored = {"version": VERSION, "faces": settings.faces}
    for name in _SECTIONS:
        stored[name] = to_stored(getattr(settings, name))
    write_private(path, json.dumps(stored, indent=1, ensure_ascii=False).encode())


def migrate(stored: Stored, to: int = VERSION, migrations: Migrations = MIGRATIONS) -> Stored:
    """Bring a file of an older schema version up to date, one version at a time."""
    for version in range(stored["version"], to):
        stored = {**migrations[version](stored), "version": version + 1}
    return stored


def _from_json(stored: Stored) -> tuple[Settings, list[str]]:
    parts: Stored = {}
    notes: list[str] = []
    for name, kind in _SECTIONS.items():
        section = stored.get(name, {})
        parts[name], bad = from_stored(kind, section if isinstance(section, dict) else {})
        notes += [f"The stored setting {name}.{one} is not allowed; its default is used" for one in bad]
    if parts["guard"].policy is GuardPolicy.PASS:
        # Showing the real face is a decision of the moment; it never survives a restart.
        parts["guard"] = GuardConfig()
    return Settings(**parts, faces=_faces(stored.get("faces"))), notes


def _faces(stored: object) -> Remembered:
    kept = tuple(_sources(face) for face in stored) if isinstance(stored, list) else ()
    return kept if any(kept) else ()


def _sources(stored: object) -> tuple[tuple[str, int], ...]:
    entries = stored if isinstance(stored, list) else []
    return tuple(
        (entry[0], entry[1])
        for entry in entries
        if isinstance(entry, list)
        and len(entry) == 2
        and isinstance(entry[0], str)
        and isinstance(entry[1], int)
        and entry[1] >= 1
    )


def _put_aside(path: Path) -> str:
    try:
        path.replace(path.with_name(path.name + ".bad"))
    except OSError:
        return "The settings file is damaged; the defaults are used"
    return f"The settings file was damaged; it is kept as {path.name}.bad and the defaults are used"
