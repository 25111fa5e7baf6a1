"""Draws one frame's patch: the bent background, and the source's skin over it."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.grid import Grid
from engine.swap.mesh.identity import TEXELS, MeshIdentity
from engine.swap.mesh.openings import open_up
from engine.swap.mesh.pixels import look_up
from engine.swap.mesh.raster import cover
from engine.swap.mesh.regions import Plane, atlas_points
from engine.swap.mesh.sharpness import SharpnessMatch, Textures, middle
from engine.swap.mesh.topology import topology
from engine.swap.mesh.unwrap import SIZE
from engine.types import Image, Mask, Patch, Points

LEAST_OPACITY = 0.003
LEAST_BEND = 0.05
"""Pixels below which the background is taken as it is."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """One frame's geometry, frame pixels.

    Attributes:
        before, after: float32 (542, 2), where every vertex is, and where it goes.
        visible: float32 (542,), how far the skin may be shown there.
        facing: float32 (468,), how much the surface faces the camera, before as after.
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
        covered: uint8 (h, w), 255 on the face and its rings.
        opacity: float32 (h, w), of the source's skin, eyes and mouth included.
        open: float32 (h, w), 1 on eyes, mouth and their rims, where nothing else hides them.
    """

    place: NDArray[np.float32]
    bend: NDArray[np.float32]
    covered: Mask
    opacity: Plane
    open: Plane


class Composer:
    """Draws one face's patches; remembers how sharp its picture is."""

    def __init__(self, identity: MeshIdentity, *, source_eyes: bool) -> None:
        self._alpha = identity.alpha
        self._textures = Textures(identity)
        self._source_eyes = source_eyes
        self._sharpness = SharpnessMatch()
        self._places = atlas_points(SIZE)

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
            covered = drawn.covered
        else:
            out = image[window[1] : window[3], window[0] : window[2]].copy()
            covered = np.where(_grown(drawn.opacity) > LEAST_OPACITY, np.uint8(255), np.uint8(0))
        mask = np.asarray(cv2.inRange(grid.enlarge(covered, window), 128, 255), np.uint8)

        inner = slice(max(rows[0] - 1, 0), rows[-1] + 2), slice(max(columns[0] - 1, 0), columns[-1] + 2)
        part = grid.part(*inner).window(frame)
        if part[0] < part[2] and part[1] < part[3]:
            view = out[part[1] - window[1] : part[3] - window[1], part[0] - window[0] : part[2] - window[0]]
            made = self._laid_over(view, drawn, gain, grid, inner, geometry.width)
            open_up(
                view,
                made,
                window=part,
                grid=grid,
                open_cells=drawn.open,
                points=geometry.after,
                width=geometry.width,
                source_eyes=self._source_eyes,
            )
            view[:] = made
        return Patch.at(out, mask, window[0], window[1])

    def _draw(self, grid: Grid, geometry: Geometry) -> _Drawn:
        mesh = topology()
        cells = grid.cells(geometry.after)
        order = _order(cells, geometry.depth)
        drawn = cover(cells, mesh.triangles.take(order, axis=0), (grid.width, grid.height))
        bend = geometry.before - geometry.after
        planes = drawn.draw(np.concatenate([self._places, bend, geometry.visible[:, None]], 1))
        place = np.ascontiguousarray(planes[..., :2])
        on_rings = len(mesh.triangles) - mesh.rings.start
        opacity = look_up(self._alpha, place) * planes[..., 4] * (drawn.which >= on_rings)
        opening = mesh.openings.take(order).take(drawn.which) & (drawn.which >= 0)
        return _Drawn(
            place=place,
            bend=np.ascontiguousarray(planes[..., 2:4]),
            covered=(drawn.which >= 0) * np.uint8(255),
            opacity=np.asarray(cv2.GaussianBlur(opacity, (3, 3), 0), np.float32),
            open=_grown(opening.astype(np.float32)),
        )

    def _laid_over(
        self,
        view: Image,
        drawn: _Drawn,
        gain: NDArray[np.float32],
        grid: Grid,
        cells: tuple[slice, slice],
        width: float,
    ) -> Image:
        """The source's skin in the target's light over `view`, the pixels of the grid's `cells`."""
        inner = grid.part(*cells)
        x0, y0 = max(inner.x, 0), max(inner.y, 0)
        window = (x0, y0, x0 + view.shape[1], y0 + view.shape[0])
        at, opacity = drawn.place[cells], drawn.opacity[cells][..., None]
        light = inner.enlarge(look_up(gain, _rescaled(at, TEXELS)) * opacity, window)
        # 8 bits do for what shows through, and are cheaper.
        rest = inner.enlarge(np.repeat(np.rint(255 * (1 - opacity)).astype(np.uint8), 3, axis=2), window)
        sharp = self._textures.sharp(width)
        place = inner.enlarge(_rescaled(at, sharp.shape[0]), window)
        centre = middle(view.shape)
        sigma = self._sharpness.blur(view[centre], _lit(sharp, place[centre], light[centre]))
        skin = _lit(self._textures.softened(width, sigma), place, light)
        return np.asarray(cv2.add(skin, cv2.multiply(view, rest, scale=1 / 255)), np.uint8)


def _lit(texture: Image, place: NDArray[np.float32], light: NDArray[np.float32]) -> Image:
    """The texture read at `place` (h, w, 2) times `light` (h, w, 3)."""
    return np.asarray(cv2.multiply(look_up(texture, place), light, dtype=cv2.CV_8U), np.uint8)


def _grown(plane: Plane) -> Plane:
    """One cell larger all round."""
    return np.asarray(cv2.dilate(plane, np.ones((3, 3), np.uint8)), np.float32)


def _rescaled(place: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Atlas coordinates in pixels of `SIZE` in those of a smaller copy."""
    factor = size / SIZE
    return np.ascontiguousarray(place * np.float32(factor) + np.float32(0.5 * factor - 0.5))


def _order(cells: NDArray[np.float32], depth: NDArray[np.float32]) -> NDArray[np.intp]:
    """Drawing order: rings, then eyes and mouth, then the skin that faces the camera, far to near."""
    mesh = topology()
    skin = mesh.triangles[: mesh.surface]
    a, b, c = cells.take(skin.T, axis=0)
    ab, ac = b - a, c - a
    visible = np.flatnonzero(ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0] > 0)
    far_first = visible[np.argsort(-depth.take(skin.take(visible, axis=0)).sum(1), kind="stable")]
    below = np.concatenate(
        [np.arange(mesh.rings.start, mesh.rings.stop), np.arange(mesh.fills.start, mesh.fills.stop)]
    )
    return np.concatenate([below, far_first])
