"""Versions of a user's model in lower precision, measured before they are kept."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.catalog.entry import Entry, Kind
from engine.catalog.store import Installed, Store
from engine.catalog.write import to_toml
from engine.errors import InputError, ModelError
from engine.folders import write_private
from engine.runtime.network import Network
from engine.runtime.precision import Feed, psnr, to_fp16, to_int8
from engine.runtime.providers import CPU

LEAST_PSNR = {"fp16": 45.0, "int8": 28.0}
"""dB against full precision on real crops below which a version is refused: half floats must not be
seen at all; 8 bits may cost what strong JPEG compression costs, no more."""
TITLES = {"fp16": "half precision", "int8": "8-bit integers"}

MakeFeeds = Callable[[Entry], Sequence[Feed]]
"""Gives the network's inputs of real pictures."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A version in lower precision that was kept.

    Attributes:
        installed: where it is, and its own hash.
        psnr: dB against full precision, the median over the crops that were not calibrated on.
        worst: of the worst crop.
        crops: how many were compared.
    """

    installed: Installed
    psnr: float
    worst: float
    crops: int


def make_variant(
    store: Store,
    name: str,
    precision: str,
    make_feeds: MakeFeeds,
    catalogue: Path,
    least: float | None = None,
) -> Variant:
    """Convert an installed model, compare it with the original, and add it to the store as NAME-PRECISION.

    Args:
        store: holds the model.
        name: of the model, in full precision.
        precision: "fp16" or "int8".
        make_feeds: every second feed is compared; the others, for int8, calibrate.
        catalogue: folder of the user's own entries.
        least: dB; `LEAST_PSNR` when not given.

    Raises:
        ModelError: it is not here, makes no pictures, or the result is not good enough; nothing is kept.
        InputError: too few faces to judge by.
    """
    entry = store.entry(name)
    if entry.kind not in (Kind.SWAPPER, Kind.ENHANCER) or entry.exact:
        raise ModelError(
            f"{name} is no swapper or enhancer in full precision", "Only their pictures can be compared"
        )
    source = store.path(name)
    feeds = list(make_feeds(entry))
    if len(feeds) < 4:
        raise InputError(
            "Too few faces were found to judge by",
            "Give a clip in which a face can be seen: --calibrate CLIP",
        )
    store.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store.folder) as folder:
        target = Path(folder) / f"{name}-{precision}.onnx"
        if precision == "fp16":
            to_fp16(source, target)
        else:
            to_int8(source, target, feeds[::2])
        values = _compare(source, target, feeds[1::2], entry.contract.out_std)
        least = LEAST_PSNR[precision] if least is None else least
        if statistics.median(values) < least:
            raise ModelError(
                f"The {precision} version of {name} differs too much: {statistics.median(values):.1f} dB "
                f"where {least:g} dB are asked for",
                "Calibrate with more and other faces (--calibrate CLIP), or stay with full precision",
            )
        variant = replace(
            entry,
            name=f"{name}-{precision}",
            title=f"{entry.title}, {TITLES[precision]}",
            file=target.name,
            urls=(),
            size=0,
            sha256="",
            exact=name,
        )
        # Converters are the user's own act: the licence that was accepted covers the result.
        own = Store(store.folder, {**store.catalogue, variant.name: variant}, store.mirror, store.trial)
        own.accept(variant.name)
        installed = own.add(variant.name, target, trust=True)
    write_private(catalogue / f"{variant.name}.toml", to_toml(variant).encode())
    return Variant(installed, statistics.median(values), min(values), len(values))


def _compare(source: Path, target: Path, feeds: Sequence[Feed], out_std: float) -> list[float]:
    """PSNR of each picture; one network at a time, since two large ones may not fit."""
    exact = _pictures(source, feeds)
    span = 1 / out_std
    return [psnr(a, b, span) for a, b in zip(exact, _pictures(target, feeds), strict=True)]


def _pictures(path: Path, feeds: Sequence[Feed]) -> list[NDArray[Any]]:
    network = Network(path, CPU)
    return [np.array(network.run(None, feed)[0]) for feed in feeds]
