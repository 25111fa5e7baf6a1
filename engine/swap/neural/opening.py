"""Opens a swapper of the catalogue with all that it needs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.align import landmarks_at
from engine.blend.paste import paste
from engine.catalog.entry import Kind, SourceInput
from engine.catalog.opening import Opener, digest, note_refusal, on_rung, open_steps
from engine.catalog.store import Store
from engine.config import NeuralConfig
from engine.identity.embedding import Embedder, EmbeddingCache
from engine.identity.library import embeddings_of, seal_of
from engine.runtime.climb import reason
from engine.runtime.device import Device
from engine.runtime.providers import CPU
from engine.swap.base import Swapper
from engine.swap.fallback import FallbackSwapper
from engine.swap.neural.enhance import Enhancer
from engine.swap.neural.latent import read_emap
from engine.swap.neural.masks import Kept, MaskPart, Occluder, Outline, Parser
from engine.swap.neural.on_device import DeviceSwap, check
from engine.swap.neural.swapper import Extras, NeuralIdentity, NeuralSwapper
from engine.types import Face, Image, Points

OpenDevice = Callable[[], Device | None]


def open_neural(
    name: str,
    store: Store,
    identities: Path,
    mesh: Swapper[Any],
    opener: Opener = on_rung,
    config: NeuralConfig | None = None,
    open_device: OpenDevice = lambda: None,
) -> FallbackSwapper:
    """The catalogue's swapper, ready to run: its models are checked, opened and have been run once.

    Args:
        name: of the entry.
        store: the user's models.
        identities: folder of the identities' library, in which embeddings are kept.
        mesh: what goes on when the network fails.
        opener: opens models.
        config: what is done around the network.
        open_device: gives the device on which frames may live; None if there is none. What it raises is
            noted for the doctor.

    Raises:
        ModelError: it is no swapper, a file is missing or wrong, or nothing here can run it.
    """
    entry = store.entry(name)
    device, refusal = None, ""
    try:
        device = open_device()
    except Exception as error:  # noqa: BLE001 - frames stay on the host
        refusal = reason(error)
    stream = device.compute_stream if device is not None else 0
    steps, session = open_steps(store, name, Kind.SWAPPER, opener, stream)
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
    swapper = FallbackSwapper(neural, steps, mesh, partial(_on_device, neural, device))
    refusal = refusal or swapper.device_refusal
    if refusal:
        note_refusal(store.folder, name, "keeping frames on the GPU", refusal)
    return swapper


def _on_device(neural: NeuralSwapper, device: Device | None, session: Any) -> DeviceSwap | None:
    """See `engine.swap.fallback.MakeDeviceSwap`. Other networks around the swapper take host pictures."""
    extras = neural.extras
    if device is None or session.rung.bound != device.memory or extras.masks or extras.enhancer is not None:
        return None
    swap = DeviceSwap(
        device, session, neural.contract, neural.target_name, neural.source_name,
        together=neural.together, match_colour=extras.match_colour,
    )  # fmt: skip

    def host(image: Image, points: Points, source: NDArray[np.float32]) -> Image:
        patch = neural.follow(NeuralIdentity(source)).patch(image, Face(0, landmarks_at(points), 1.0), 1.0)
        made = image.copy()
        if patch is not None:
            paste(made, patch)
        return made

    check(swap, host)
    return swap


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
