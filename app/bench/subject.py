"""The parts of Kawari that a bench puts to work, taken one by one, without session, guard or mark.

A bench takes them from here, so that tests can put simpler parts in their place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.identity.photo import SourcePhoto
from engine.swap.base import FaceSwap, Swapper
from engine.track.base import FaceTracker
from engine.types import Face, Image, Patch, Points


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured.

    Attributes:
        tracker: makes a tracker for one stream.
        swapper: the swapper.
        photo: reads a source photo from a file.
        paste: puts a patch on a copy of a frame.
    """

    tracker: Callable[[], FaceTracker]
    swapper: Swapper[Any]
    photo: Callable[[Path], SourcePhoto]
    paste: Callable[[Image, Patch], Image]


def product(swapper: str = "mesh") -> Subject:
    """The product's own parts.

    Args:
        swapper: `mesh`, or `null`, which gives the frame's own pixels back and shows what the
            bench itself measures of an unchanged face.
    """
    from engine.build import make_tracker
    from engine.identity.import_photo import read_photo
    from engine.swap import make_swapper

    chosen = NullSwapper() if swapper == "null" else make_swapper(swapper)
    return Subject(make_tracker, chosen, read_photo, pasted)


def pasted(image: Image, patch: Patch) -> Image:
    """A copy of the frame with the patch in it."""
    from engine.blend.paste import paste

    output = image.copy()
    paste(output, patch)
    return output


def intended(swap: FaceSwap, face: Face) -> Points:
    """Where the swapper meant the landmarks to be in its last patch.

    A `FaceSwap` that moves the shape says so by its attribute `intended`, (≥ 468, 2 or 3) pixels of
    the frame; for one without, the face stays where it is.
    """
    points: Points | None = getattr(swap, "intended", None)
    return face.landmarks if points is None else points


class NullFaceSwap:
    """Gives the frame's own pixels back."""

    def patch(self, image: Image, face: Face, strength: float) -> Patch | None:
        """The face's box as it is, fully opaque."""
        import numpy as np

        height, width = image.shape[:2]
        x0, y0, x1, y1 = face.box
        left, top = max(int(x0), 0), max(int(y0), 0)
        region = image[top : min(int(y1) + 1, height), left : min(int(x1) + 1, width)].copy()
        if region.size == 0:
            return None
        return Patch.at(region, np.full(region.shape[:2], 255, np.uint8), left, top)


class NullSwapper:
    """A swapper that changes nothing."""

    name = "null"

    def prepare(self, photos: object) -> None:
        """Nothing to prepare."""

    def follow(self, identity: None) -> NullFaceSwap:
        """Nothing to remember."""
        return NullFaceSwap()
