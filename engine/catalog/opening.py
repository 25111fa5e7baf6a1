"""Opens models of the store on the provider ladder, and notes for the doctor what they run on."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from engine.catalog.entry import Kind
from engine.catalog.store import Store
from engine.errors import ModelError
from engine.folders import write_private
from engine.runtime.climb import Climb, OpenRung, Steps
from engine.runtime.network import Network
from engine.runtime.providers import ladder

Opener = Callable[[Path], OpenRung]
"""How a model file is opened on a rung; tests give failing ones."""

_NOTES = "runs.json"


def on_rung(path: Path) -> OpenRung:
    """The opener of the product."""
    return lambda rung: Network(path, rung)


def open_steps(
    store: Store, name: str, kind: Kind, opener: Opener = on_rung, stream: int = 0
) -> tuple[Steps, Any]:
    """The ladder of a model and, below it, that of its version in full precision; the first session.

    Args:
        store: the user's models.
        name: of the model.
        kind: what it must be.
        opener: opens it.
        stream: address of a CUDA stream that it should work on; 0 for one of its own.

    Raises:
        ModelError: it is of another kind, missing, wrong, or nothing here can run it.
    """
    entry = store.entry(name)
    if entry.kind is not kind:
        article = "an" if kind.value[0] in "aeiou" else "a"
        raise ModelError(
            f"{name} is a model of kind '{entry.kind.value}', not {article} {kind.value}",
            f"See the {kind.value}s with: kawari models list",
        )
    versions = [name]
    if entry.exact and store.installed(entry.exact) is not None:
        versions.append(entry.exact)
    store.path(name)  # complains before anything is opened

    def climb(version: str) -> Climb:
        rungs = ladder(cache=store.folder / "engines", model=digest(store, version), stream=stream)
        return Climb(rungs, opener(store.path(version)))

    steps = Steps([partial(climb, version) for version in versions])
    try:
        session = steps.step()
    finally:
        _note(store.folder, name, steps)
    return steps, session


def digest(store: Store, name: str) -> str:
    """SHA-256 of an installed model, "" if it is not there."""
    installed = store.installed(name)
    return installed.sha256 if installed else ""


def read_notes(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """By model: "rung" it last ran on ("" if none), and "refused": rung → reason."""
    try:
        notes = json.loads((folder / _NOTES).read_text(encoding="utf-8"))
        return {
            str(name): {"rung": str(note["rung"]), "refused": dict(note["refused"])}
            for name, note in notes.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def note_refusal(folder: Path, name: str, what: str, why: str) -> None:
    """Note for the doctor that a model in use does without something, and why."""
    note = read_notes(folder).get(name, {"rung": "", "refused": {}})
    _write(folder, name, {**note, "refused": {**note["refused"], what: why}})


def _note(folder: Path, name: str, steps: Steps) -> None:
    refused = {refusal.rung: refusal.reason for refusal in steps.refusals}
    _write(folder, name, {"rung": steps.rung, "refused": refused})


def _write(folder: Path, name: str, note: Mapping[str, Any]) -> None:
    notes = {**read_notes(folder), name: note}
    with contextlib.suppress(OSError):  # only the doctor misses it
        write_private(folder / _NOTES, json.dumps(notes, indent=1).encode())
