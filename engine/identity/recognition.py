"""The user's recognition network, where one was added."""

from __future__ import annotations

from pathlib import Path

from engine.errors import ModelError
from engine.identity.embedding import Embedder


def open_recognition(home: Path) -> tuple[str, Embedder]:
    """Name and network of the first installed model that compares faces.

    Args:
        home: Kawari's folder.

    Raises:
        ModelError: there is none, or it was changed or can't be run.
    """
    from engine.catalog import open_store
    from engine.catalog.entry import Kind
    from engine.catalog.opening import on_rung
    from engine.runtime.providers import CPU

    store = open_store(home)
    for name, entry in store.catalogue.items():
        if entry.kind is Kind.EMBEDDER and store.installed(name) is not None:
            return name, Embedder(on_rung(store.path(name))(CPU), entry.contract)
    raise ModelError(
        "Comparing faces needs a recognition model, and there is none on this computer",
        "Get one: kawari models get arcface_w600k_r50",
    )
