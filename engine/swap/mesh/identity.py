"""What the mesh swapper keeps of a source person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.errors import InputError
from engine.identity.photo import SourcePhoto
from engine.swap.mesh.atlas import build_atlas
from engine.swap.mesh.neutral import in_canonical_pose
from engine.swap.mesh.pixels import BGR_TO_LUMINANCE, blurred, shrunk
from engine.swap.mesh.regions import FACE_WIDTH, Plane, regions
from engine.swap.mesh.shape import Shape
from engine.swap.mesh.unwrap import SIZE
from engine.types import Image

TEXELS = 96
"""Side of the small atlas in which light and expression are compared."""
MAX_PHOTOS = 5


@dataclass(frozen=True, slots=True)
class MeshIdentity:
    """A prepared source person; plain arrays, so that it can be kept on disk.

    Attributes:
        textures: the atlas, uint8 (n, n, 3), BGR, and its halves, largest first.
        alpha: float32 (SIZE, SIZE), how far the atlas may be shown.
        tone: float32 (TEXELS, TEXELS, 3), the atlas's colours, small.
        skin: float32 (TEXELS, TEXELS), 1 = bare skin of the source.
        own_tint: float32 (TEXELS, TEXELS), 1 = keeps its own tint and darkness: brow hair wholly, eyes
            and lips partly.
        shape: float64 (468, 3), the neutral shape, centimetres.
    """

    textures: tuple[Image, ...]
    alpha: Plane
    tone: NDArray[np.float32]
    skin: Plane
    own_tint: Plane
    shape: Shape


def prepare_identity(photos: Sequence[SourcePhoto]) -> MeshIdentity:
    """Make an identity of one to five photos of the same person.

    Raises:
        InputError: no photo, or more than five.
    """
    if not photos:
        raise InputError("No source photo was given", "Give at least one photo of the person to become")
    if len(photos) > MAX_PHOTOS:
        raise InputError(f"{len(photos)} source photos were given", f"Use the {MAX_PHOTOS} best ones")
    atlas = build_atlas(photos)
    textures = [atlas.texture]
    while textures[-1].shape[0] > 80:
        textures.append(np.asarray(cv2.pyrDown(textures[-1]), np.uint8))
    tone = shrunk(atlas.texture.astype(np.float32), TEXELS, TEXELS)
    skin = shrunk(atlas.skin, TEXELS, TEXELS)
    shapes = [in_canonical_pose(photo.face.landmarks) for photo in photos]
    weights = [1.0 / (10 + abs(photo.quality.yaw) + abs(photo.quality.pitch)) for photo in photos]
    return MeshIdentity(
        textures=tuple(textures),
        alpha=atlas.alpha,
        tone=tone,
        skin=skin,
        own_tint=_own_tint(tone, skin),
        shape=np.average(shapes, axis=0, weights=weights),
    )


def level_for(identity: MeshIdentity, width: float) -> int:
    """Which of `identity.textures` has the texels of a face `width` pixels wide, at most 1.4 × too many."""
    too_many = max(FACE_WIDTH * SIZE / max(width, 1.0), 1.0)
    return min(int(np.log2(too_many) + 0.5), len(identity.textures) - 1)


def _own_tint(tone: NDArray[np.float32], skin: Plane) -> Plane:
    """Brows as far as they are darker than the skin round them, eyes and lips mostly."""
    luminance = tone @ BGR_TO_LUMINANCE
    around = blurred(luminance * skin, 6) / (blurred(skin, 6) + 1e-3)
    darker = np.clip((1 - luminance / (around + 1)) / 0.35, 0, 1)
    part = regions(TEXELS)
    return np.asarray(np.maximum(darker * part.brows, 0.8 * np.maximum(part.eyes, part.lips)), np.float32)
