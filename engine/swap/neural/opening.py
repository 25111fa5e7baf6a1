"""Opens a swapper of the catalogue with all that it needs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from engine.catalog.entry import Entry, Kind, SourceInput
from engine.catalog.store import Store
from engine.errors import ModelError
from engine.identity.embedding import Embedder, EmbeddingCache
from engine.runtime.climb import Climb, OpenRung, Steps
from engine.runtime.network import Network
from engine.runtime.providers import CPU, ladder
from engine.swap.base import Swapper
from engine.swap.fallback import FallbackSwapper
from engine.swap.neural.latent import read_emap
from engine.swap.neural.swapper import NeuralSwapper

Opener = Callable[[Path], OpenRung]
"""How a model file is opened on a rung; tests give failing ones."""


def open_neural(
    name: str,
    store: Store,
    embeddings: Path,
    mesh: Swapper[Any],
    opener: Opener = lambda path: lambda rung: Network(path, rung),
) -> FallbackSwapper:
    """The catalogue's swapper, ready to run: its models are checked, opened and have been run once.

    Args:
        name: of the entry.
        store: the user's models.
        embeddings: folder of the embeddings' cache.
        mesh: what goes on when the network fails.
        opener: opens models.

    Raises:
        ModelError: it is no swapper, a file is missing or wrong, or nothing here can run it.
    """
    entry = store.entry(name)
    if entry.kind is not Kind.SWAPPER:
        raise ModelError(
            f"{name} is a model of kind '{entry.kind.value}', not a swapper",
            "See the swappers with: kawari models list",
        )
    paths = {each: store.path(each) for each in (name, *entry.needs)}

    def climb(each: str) -> Climb:
        rungs = ladder(cache=store.folder / "engines", model=_digest(store, each))
        return Climb(rungs, opener(store.path(each)))

    embedder = converter = cache = None
    for each in entry.needs:
        # Once per photo is no work for a GPU, and an identity must not depend on who computes it.
        session = opener(paths[each])(CPU)
        needed = store.entry(each)
        if needed.kind is Kind.EMBEDDER:
            embedder = Embedder(session, needed.contract)
            cache = EmbeddingCache(embeddings, _digest(store, each))
        elif needed.kind is Kind.CONVERTER:
            converter = session
    steps = Steps([partial(climb, each) for each in _versions(store, entry)])
    neural = NeuralSwapper(
        name,
        entry.contract,
        steps.step(),
        embedder=embedder,
        cache=cache,
        emap=read_emap(paths[name]) if entry.contract.source is SourceInput.EMAP else None,
        converter=converter,
    )
    return FallbackSwapper(neural, steps, mesh)


def _digest(store: Store, name: str) -> str:
    installed = store.installed(name)
    return installed.sha256 if installed else ""


def _versions(store: Store, entry: Entry) -> list[str]:
    """The network itself, then its version of full precision if that is in the store."""
    exact = entry.exact
    return [entry.name, exact] if exact and store.installed(exact) else [entry.name]
