"""Opens a swapper of the catalogue with all that it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.catalog.entry import Kind, SourceInput
from engine.catalog.opening import Opener, digest, on_rung, open_steps
from engine.catalog.store import Store
from engine.identity.embedding import Embedder, EmbeddingCache
from engine.runtime.providers import CPU
from engine.swap.base import Swapper
from engine.swap.fallback import FallbackSwapper
from engine.swap.neural.latent import read_emap
from engine.swap.neural.swapper import NeuralSwapper


def open_neural(
    name: str, store: Store, embeddings: Path, mesh: Swapper[Any], opener: Opener = on_rung
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
    steps, session = open_steps(store, name, Kind.SWAPPER, opener)
    embedder = converter = cache = None
    for each in entry.needs:
        # Once per photo is no work for a GPU, and an identity must not depend on who computes it.
        needed, cpu = store.entry(each), opener(store.path(each))(CPU)
        if needed.kind is Kind.EMBEDDER:
            embedder = Embedder(cpu, needed.contract)
            cache = EmbeddingCache(embeddings, digest(store, each))
        elif needed.kind is Kind.CONVERTER:
            converter = cpu
    neural = NeuralSwapper(
        name,
        entry.contract,
        session,
        embedder=embedder,
        cache=cache,
        emap=read_emap(store.path(name)) if entry.contract.source is SourceInput.EMAP else None,
        converter=converter,
    )
    return FallbackSwapper(neural, steps, mesh)
