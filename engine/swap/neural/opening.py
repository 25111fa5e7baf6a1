"""Opens a swapper of the catalogue with all that it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.catalog.entry import Kind, SourceInput
from engine.catalog.opening import Opener, digest, on_rung, open_steps
from engine.catalog.store import Store
from engine.config import NeuralConfig
from engine.identity.embedding import Embedder, EmbeddingCache
from engine.identity.library import embeddings_of, seal_of
from engine.runtime.providers import CPU
from engine.swap.base import Swapper
from engine.swap.fallback import FallbackSwapper
from engine.swap.neural.enhance import Enhancer
from engine.swap.neural.latent import read_emap
from engine.swap.neural.masks import Kept, MaskPart, Occluder, Outline, Parser
from engine.swap.neural.swapper import Extras, NeuralSwapper


def open_neural(
    name: str,
    store: Store,
    identities: Path,
    mesh: Swapper[Any],
    opener: Opener = on_rung,
    config: NeuralConfig | None = None,
) -> FallbackSwapper:
    """The catalogue's swapper, ready to run: its models are checked, opened and have been run once.

    Args:
        name: of the entry.
        store: the user's models.
        identities: folder of the identities' library, in which embeddings are kept.
        mesh: what goes on when the network fails.
        opener: opens models.
        config: what is done around the network.

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
            cache = EmbeddingCache(embeddings_of(identities), digest(store, each), seal_of(identities))
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
        extras=_extras(store, opener, config or NeuralConfig()),
    )
    return FallbackSwapper(neural, steps, mesh)


def _extras(store: Store, opener: Opener, config: NeuralConfig) -> Extras:
    masks: dict[str, MaskPart] = {}
    if config.occluder:
        _, session = open_steps(store, config.occluder, Kind.OCCLUDER, opener)
        masks[config.occluder] = Occluder(session, store.entry(config.occluder).contract)
    if config.parser:
        _, session = open_steps(store, config.parser, Kind.PARSER, opener)
        masks[config.parser] = Parser(session, store.entry(config.parser).contract)
    if config.outline:
        masks["outline"] = Outline()
    if config.keep_mouth or config.keep_eyes:
        masks["mouth and eyes"] = Kept(mouth=config.keep_mouth, eyes=config.keep_eyes)
    enhancer = None
    if config.enhancer:
        _, session = open_steps(store, config.enhancer, Kind.ENHANCER, opener)
        enhancer = Enhancer(config.enhancer, session, store.entry(config.enhancer).contract)
    return Extras(config.boost, masks, enhancer, config.enhance_every, config.match_colour)
