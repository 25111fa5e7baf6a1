"""Real faces as a network takes them, out of a clip or the demo camera: to calibrate and to compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from engine.align import alignment, five_points
from engine.build import make_tracker
from engine.catalog.entry import Contract, Entry, SourceInput
from engine.catalog.store import Store
from engine.runtime.precision import Feed
from engine.sources.base import Source
from engine.swap.neural.latent import latent, read_emap
from engine.swap.neural.tensors import PictureInput
from engine.types import Image, Points

COUNT = 24
"""Faces taken, spread over the clip."""
_SPACING = 5
"""Frames from one face to the next: neighbours are nearly the same."""


def feeds_from(store: Store, source: Source, count: int = COUNT) -> Any:
    """A function that gives a network's inputs of faces in `source`; see `engine.swap.neural.variants`."""

    def make(entry: Entry) -> Sequence[Feed]:
        path = store.path(entry.name)
        random = np.random.default_rng(0)
        faces = list(_faces(source, count))
        return [_feed(entry.contract, path, random, faces, index) for index in range(len(faces))]

    return make


def _feed(
    contract: Contract, path: Path, random: np.random.Generator, faces: list[tuple[Image, Points]], index: int
) -> Feed:
    image, points = faces[index]
    feed = {
        contract.inputs[0].name or "input": _crop(contract, contract.template, contract.size, image, points)
    }
    if contract.source is SourceInput.PICTURE:
        other = faces[(index + len(faces) // 2) % len(faces)]
        feed[contract.inputs[1].name] = _crop(
            contract, contract.source_template, contract.source_size, *other
        )
    elif contract.source is not SourceInput.NONE:
        # Embeddings of different people are close to random directions.
        person = random.normal(size=512).astype(np.float32)
        emap = read_emap(path) if contract.source is SourceInput.EMAP else None
        kind = contract.source if emap is not None else SourceInput.UNIT
        feed[contract.inputs[1].name] = latent(person, kind, emap=emap)
    elif len(contract.inputs) > 1:
        feed[contract.inputs[1].name] = np.ones(1, np.float64)
    return feed


def _crop(contract: Contract, template: str, size: int, image: Image, points: Points) -> Any:
    crop = cv2.warpAffine(image, alignment(points, template, size), (size, size))
    return PictureInput(contract, size)(np.asarray(crop, np.uint8)).copy()


def _faces(source: Source, count: int) -> Iterator[tuple[Image, Points]]:
    tracker = make_tracker()
    source.open()
    try:
        found = number = 0
        while found < count and (frame := source.read()) is not None:
            faces = tracker.update(frame)
            number += 1
            if faces and number % _SPACING == 1:
                found += 1
                yield frame.image, five_points(faces[0].landmarks)
    finally:
        source.close()
