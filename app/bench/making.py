"""The product's own pipeline, put together for a bench with a meter on each part."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from app.bench.cost import Meter, MeteredMarker, MeteredSwapper, MeteredTracker
from app.bench.scene import astronaut
from engine.build import choice_for, make_tracker
from engine.config import Who
from engine.identity.import_photo import read_photo
from engine.mark.badge import Badge
from engine.mark.marker import Marker
from engine.mark.payload import Payload, model_id
from engine.pipeline import Pipeline, Plan
from engine.swap import make_swapper
from engine.swap.base import Swapper
from engine.version import __version__


@dataclass(frozen=True, slots=True)
class Maker:
    """A swapper with an identity ready for it."""

    swapper: Swapper[Any]
    identity: Any

    def pipeline(self, who: Who, meter: Meter) -> Pipeline:
        """A new pipeline with guard and marks, as a session makes it."""
        return Pipeline(
            MeteredTracker(make_tracker(), meter),
            MeteredSwapper(self.swapper, meter),
            Plan({0: self.identity}, choice_for(who)),
            marker=MeteredMarker(marker(self.swapper.name), meter),
        )


@cache
def maker(swapper: str = "mesh") -> Maker:
    """The swapper of that name with the mirrored portrait as identity."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "photo.png"
        write_photo(path)
        made = make_swapper(swapper)
        return Maker(made, made.prepare([read_photo(path)]))


def write_photo(path: Path) -> None:
    """A source photo: the portrait mirrored, so that it is not the face in the scene."""
    cv2.imwrite(str(path), np.ascontiguousarray(astronaut()[:, ::-1]))


def marker(swapper: str) -> Marker:
    """Badge and watermark, as every picture gets them; the install id is nobody's."""
    major, minor = (int(part) for part in __version__.split(".")[:2])
    return Marker(Payload(0, model_id(swapper), (major, minor), date(2020, 1, 1)), Badge())
