"""One photo laid flat into the atlas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.pixels import blurred, shrunk
from engine.swap.mesh.regions import FACE_WIDTH, Plane, atlas_cover
from engine.swap.mesh.shape import facing, smoothstep
from engine.swap.mesh.skin import skin_likelihood
from engine.swap.mesh.topology import (
    INNER_RING,
    LEFT_EYE,
    OUTER_RING,
    OVAL,
    RIGHT_EYE,
    SURFACE,
    VERTICES,
    with_rings,
)
from engine.types import Image, Points

SIZE = 640
"""Side of the atlas, pixels: a frontal face is about 460 pixels wide in it."""


@dataclass(frozen=True)
class View:
    """What one photo shows of the atlas.

    Attributes:
        colour: float32 (SIZE, SIZE, 3), BGR.
        seen: float32 (SIZE, SIZE), 1 = faces the camera and lies in the photo.
        skin: float32 (SIZE, SIZE), from `skin_likelihood`.
    """

    colour: NDArray[np.float32]
    seen: Plane
    skin: Plane


def iris_points(landmarks: Points) -> Points:
    """Both irises (2, 2), drawn a little towards the middle of the eye, so that they stay in it."""
    out = []
    for iris, eye in ((468, RIGHT_EYE), (473, LEFT_EYE)):
        middle = landmarks[eye, :2].mean(0)
        out.append(middle + 0.9 * (landmarks[iris, :2] - middle))
    return np.array(out, np.float32)


def unwrap(image: Image, landmarks: Points) -> View:
    """Lay a photo flat.

    Args:
        image: uint8, H×W×3, BGR.
        landmarks: float32 (478, 3), pixels of `image`.
    """
    reduce = min(1.0, 1.15 * FACE_WIDTH * SIZE / float(np.ptp(landmarks[:SURFACE, 0])))
    if reduce < 1:
        image = shrunk(image, round(image.shape[1] * reduce), round(image.shape[0] * reduce))
        landmarks = landmarks * np.float32(reduce)
    visible = np.zeros(VERTICES, np.float32)
    visible[:SURFACE] = smoothstep(facing(landmarks), 0.05, 0.5)
    visible[INNER_RING] = visible[OUTER_RING] = visible[OVAL]
    visible[-2:] = visible[RIGHT_EYE].mean(), visible[LEFT_EYE].mean()
    values = np.concatenate([with_rings(landmarks, iris_points(landmarks)), visible[:, None]], 1)
    planes = atlas_cover(SIZE).draw(values)
    place = np.ascontiguousarray(planes[..., :2])
    nothing: Any = None
    flat_image = cv2.remap(image, place, nothing, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    colour = np.asarray(flat_image, np.uint8)
    x, y = place[..., 0], place[..., 1]
    in_photo = (x >= 0) & (x < image.shape[1]) & (y >= 0) & (y < image.shape[0])
    seen = blurred(planes[..., 2] * in_photo, 0.009 * SIZE)
    return View(colour.astype(np.float32), seen, skin_likelihood(colour, seen))
