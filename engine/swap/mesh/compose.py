"""Draws one frame's patch: the bent background, and the source's skin over it."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.grid import Grid, Window
from engine.swap.mesh.identity import TEXELS, MeshIdentity, level_for
from engine.swap.mesh.openings import open_up
from engine.swap.mesh.pixels import blurred, look_up
from engine.swap.mesh.raster import cover, interpolate
from engine.swap.mesh.regions import Plane, atlas_points
from engine.swap.mesh.sharpness import SharpnessMatch
from engine.swap.mesh.topology import OUTER_RING, VERTICES, topology
from engine.swap.mesh.unwrap import SIZE
from engine.types import Image, Patch, Points

LEAST_OPACITY = 0.003
LEAST_BEND = 0.05
"""Pixels below which the background is taken as it is."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """One frame's geometry, frame pixels.

    Attributes:
        before, after: float32 (542, 2), where every vertex is, and where it goes.
        visible: float32 (542,), how far the skin may be shown there.
        facing: float32 (468,), of the surface before.
        depth: float32 (468,), of the surface after, smaller is nearer.
        width: of the face before.
    """

    before: Points
    after: Points
    visible: NDArray[np.float32]
    facing: NDArray[np.float32]
    depth: NDArray[np.float32]
    width: float


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The geometry, drawn into the grid.

    Attributes:
        place: float32 (h, w, 2), atlas pixels.
        bend: float32 (h, w, 2), from a place after to where it was before, pixels.
        opacity: float32 (h, w), of the source's skin, eyes and mouth included.
        reach: float32 (h, w), 1 on and near the face, falling to 0 at the outer ring.
        open: float32 (h, w), 1 where an eye or the mouth lies open to the camera.
    """

    place: NDArray[np.float32]
    bend: NDArray[np.float32]
    opacity: Plane
    reach: Plane
    open: Plane


class Composer:
    """Draws one face's patches; remembers how sharp its picture is."""

    def __init__(self, identity: MeshIdentity, *, source_eyes: bool) -> None:
        self._identity = identity
        self._source_eyes = source_eyes
        self._sharpness = SharpnessMatch()
        reach = np.ones((VERTICES, 1), np.float32)
        reach[OUTER_RING] = 0
        self._fixed = np.concatenate([atlas_points(SIZE), reach], 1)

    def patch(self, image: Image, grid: Grid, geometry: Geometry, gain: NDArray[np.float32]) -> Patch | None:
        """The patch, or None if nothing of it lies in the frame.

        Args:
            image: the frame, uint8, H×W×3, BGR.
            grid: covers `geometry.after`.
            geometry: of this frame.
            gain: float32 (TEXELS, TEXELS, 3), light and expression, in the small atlas.
        """
        frame = (image.shape[1], image.shape[0])
        window = grid.window(frame)
        drawn = self._draw(grid, geometry)
        rows = np.flatnonzero(drawn.opacity.max(1) > LEAST_OPACITY)
        columns = np.flatnonzero(drawn.opacity.max(0) > LEAST_OPACITY)
        if not len(rows) or window[0] >= window[2] or window[1] >= window[3]:
            return None
        if np.abs(drawn.bend).max() > LEAST_BEND:
            # The outline of the far cheek is a step in the shift: smooth it out.
            bend = np.asarray(cv2.blur(drawn.bend, (5, 5)), np.float32)
            out = look_up(image, grid.enlarge(grid.pixels() + bend, window))
            # At the outer ring the bend is nothing: the patch's border needs no feather.
            covered = (drawn.reach > 0.02).astype(np.float32)
        else:
            out = image[window[1] : window[3], window[0] : window[2]].copy()
            covered = (cv2.dilate(drawn.opacity, np.ones((3, 3), np.uint8)) > LEAST_OPACITY).astype(
                np.float32
            )
        mask = ((grid.enlarge(covered, window) > 0.5) * np.uint8(255)).astype(np.uint8)

        rows_in = slice(int(max(rows[0] - 1, 0)), int(min(rows[-1] + 2, grid.height)))
        columns_in = slice(int(max(columns[0] - 1, 0)), int(min(columns[-1] + 2, grid.width)))
        inner = grid.part(rows_in, columns_in)
        part = inner.window(frame)
        if part[0] < part[2] and part[1] < part[3]:
            view = out[part[1] - window[1] : part[3] - window[1], part[0] - window[0] : part[2] - window[0]]
            skin = self._skin(inner, drawn.place[rows_in, columns_in], gain, part, geometry.width)
            sigma = self._sharpness.blur(view, skin)
            if sigma:
                skin = blurred(skin, sigma)
            opacity = np.ascontiguousarray(inner.enlarge(drawn.opacity[rows_in, columns_in], part))
            open_up(
                view,
                skin,
                opacity,
                window=part,
                grid=grid,
                open_cells=drawn.open,
                points=geometry.after,
                width=geometry.width,
                source_eyes=self._source_eyes,
            )
            view[:] = cv2.blendLinear(np.ascontiguousarray(view), skin, 1 - opacity, opacity)
        return Patch.at(out, mask, window[0], window[1])

    def _draw(self, grid: Grid, geometry: Geometry) -> _Drawn:
        mesh = topology()
        cells = grid.cells(geometry.after)
        ids = cover(cells, mesh.triangles, _order(cells, geometry.depth), (grid.width, grid.height))
        values = np.concatenate(
            [self._fixed, geometry.before - geometry.after, geometry.visible[:, None]], axis=1
        )
        planes = interpolate(ids, cells, mesh.triangles, values)
        place = np.ascontiguousarray(planes[..., :2])
        on_face = (ids >= 0) & (ids < mesh.rings.start)
        opacity = look_up(self._identity.alpha, place) * planes[..., 5] * on_face
        filled = ((ids >= mesh.fills.start) & (ids < mesh.fills.stop)).astype(np.float32)
        return _Drawn(
            place=place,
            bend=np.ascontiguousarray(planes[..., 3:5]),
            opacity=np.asarray(cv2.GaussianBlur(opacity, (3, 3), 0), np.float32),
            reach=planes[..., 2],
            open=np.asarray(cv2.dilate(filled, np.ones((3, 3), np.uint8)), np.float32),
        )

    def _skin(
        self,
        grid: Grid,
        place: NDArray[np.float32],
        gain: NDArray[np.float32],
        window: Window,
        width: float,
    ) -> Image:
        """The source's skin in the target's light, uint8, for the pixels of `window`."""
        texture = self._identity.textures[level_for(self._identity, width)]
        skin = look_up(texture, grid.enlarge(_rescaled(place, texture.shape[0]), window))
        light = np.ascontiguousarray(grid.enlarge(look_up(gain, _rescaled(place, TEXELS)), window))
        return np.asarray(cv2.multiply(skin, light, dtype=cv2.CV_8U), np.uint8)


def _rescaled(place: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Atlas coordinates in pixels of `SIZE` in those of a smaller copy."""
    factor = size / SIZE
    return np.ascontiguousarray(place * np.float32(factor) + np.float32(0.5 * factor - 0.5))


def _order(cells: NDArray[np.float32], depth: NDArray[np.float32]) -> NDArray[np.intp]:
    """Drawing order: rings, then eyes and mouth, then the skin that faces the camera, far to near."""
    mesh = topology()
    skin = mesh.triangles[: mesh.surface]
    a, b, c = (cells[skin[:, i]] for i in range(3))
    ab, ac = b - a, c - a
    visible = np.flatnonzero(ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0] > 0)
    far_first = visible[np.argsort(-depth[skin[visible]].sum(1), kind="stable")]
    below = np.concatenate(
        [np.arange(mesh.rings.start, mesh.rings.stop), np.arange(mesh.fills.start, mesh.fills.stop)]
    )
    return np.concatenate([below, far_first])
