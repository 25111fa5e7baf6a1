"""The mesh swapper: the source's skin and shape on the target's pose, light and expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.identity.photo import SourcePhoto
from engine.swap.mesh.expression import Expression
from engine.swap.mesh.grid import Grid
from engine.swap.mesh.identity import TEXELS, MeshIdentity, level_for, prepare_identity
from engine.swap.mesh.illumination import Illumination
from engine.swap.mesh.neutral import NeutralShape
from engine.swap.mesh.pixels import look_up
from engine.swap.mesh.raster import cover, interpolate
from engine.swap.mesh.regions import atlas_points
from engine.swap.mesh.sample import sample_face
from engine.swap.mesh.shape import facing, smoothstep, transfer
from engine.swap.mesh.topology import (
    INNER_RING,
    IRIS_LEFT,
    IRIS_RIGHT,
    LEFT_EYE,
    OUTER_RING,
    OVAL,
    RIGHT_EYE,
    SURFACE,
    VERTICES,
    topology,
    with_rings,
)
from engine.swap.mesh.unwrap import SIZE, iris_points
from engine.track.pose import fit
from engine.types import Face, Image, Patch, Points

INNER_SHARE = 0.45
"""How far the inner ring follows the oval; the outer one stays."""
LEAST_VISIBLE = 0.3
"""Share of the face's surface that must face the camera, or there is nothing to swap on."""
JUMP = 0.5
"""Move of the face between two frames, in face widths, after which its light is measured anew."""


@dataclass(frozen=True, slots=True)
class MeshOptions:
    """Choices of the mesh swapper.

    Attributes:
        source_eyes: show the source's eyes in place of the target's.
        expression: 0..1, how much of the target's wrinkles and folds is carried over.
    """

    source_eyes: bool = False
    expression: float = 1.0


class MeshSwapper:
    """Swaps by a textured mesh: no model to download, no GPU."""

    name = "mesh"
    identity_type = MeshIdentity

    def __init__(self, options: MeshOptions | None = None) -> None:
        self._options = options or MeshOptions()

    def prepare(self, photos: Sequence[SourcePhoto]) -> MeshIdentity:
        """Make an identity of one to five photos of the same person; see `prepare_identity`."""
        return prepare_identity(photos)

    def follow(self, identity: MeshIdentity) -> MeshFaceSwap:
        """Start swapping one face in one stream."""
        return MeshFaceSwap(identity, self._options)


@dataclass(frozen=True, slots=True)
class _Geometry:
    """Where every vertex (542, 2) is in the frame, where it goes, and how far it may be seen (542,)."""

    before: Points
    after: Points
    visible: NDArray[np.float32]
    facing: NDArray[np.float32]
    depth: NDArray[np.float32]


class MeshFaceSwap:
    """Everything the mesh swapper remembers of one face.

    Attributes:
        intended: (468, 2), frame pixels, where the last patch puts the landmarks; None before the
            first. The quality bench holds it against what is seen in the output.
    """

    def __init__(self, identity: MeshIdentity, options: MeshOptions) -> None:
        self.intended: Points | None = None
        self._identity = identity
        self._options = options
        self._neutral = NeutralShape()
        self._illumination = Illumination(identity)
        self._expression = Expression()
        self._last: NDArray[np.float32] | None = None

    def patch(self, image: Image, face: Face, strength: float) -> Patch | None:
        """See `engine.swap.base.FaceSwap.patch`. The patch holds the bent background, too."""
        frame = (image.shape[1], image.shape[0])
        geometry = self._geometry(face.landmarks, strength)
        if geometry is None:
            return None
        grid = Grid.over(geometry.after, frame)
        if grid is None:
            return None
        self._notice_jump(face)
        self.intended = geometry.after[:SURFACE]
        sample = sample_face(image, geometry.before, geometry.facing)
        gain = self._illumination.update(sample)
        if self._options.expression:
            ratio = 1 + (self._expression.update(sample) - 1) * self._options.expression
            gain = gain * ratio[..., None]
        return self._compose(image, grid, geometry, gain, face.width)

    def _notice_jump(self, face: Face) -> None:
        box = np.array(face.box, np.float32)
        if self._last is not None and np.abs(box - self._last).max() > JUMP * face.width:
            self._illumination.reset()
        self._last = box

    def _geometry(self, landmarks: Points, strength: float) -> _Geometry | None:
        surface = landmarks[:SURFACE]
        if not np.isfinite(landmarks).all() or np.ptp(surface[:, 0]) < 8:
            return None
        scale, rotation, shift = fit(landmarks)
        neutral = self._neutral.update((surface - shift) @ rotation / scale, rotation)
        move = (strength * scale * transfer(self._identity.shape, neutral) @ rotation.T).astype(np.float32)
        moved = surface + move
        front = facing(moved)
        if (front > 0.15).mean() < LEAST_VISIBLE:
            return None
        before = with_rings(landmarks, iris_points(landmarks))
        after = before.copy()
        after[:SURFACE] = moved[:, :2]
        after[INNER_RING] += INNER_SHARE * move[OVAL, :2]
        after[IRIS_RIGHT] += move[RIGHT_EYE, :2].mean(0)
        after[IRIS_LEFT] += move[LEFT_EYE, :2].mean(0)
        visible = np.zeros(VERTICES, np.float32)
        visible[:SURFACE] = smoothstep(front, 0.03, 0.30)
        visible[-2:] = 1
        return _Geometry(before, after, visible, facing(surface), moved[:, 2])

    def _compose(
        self, image: Image, grid: Grid, geometry: _Geometry, gain: NDArray[np.float32], width: float
    ) -> Patch | None:
        frame = (image.shape[1], image.shape[0])
        reach = np.ones(VERTICES, np.float32)
        reach[OUTER_RING] = 0
        values = np.concatenate(
            [
                atlas_points(SIZE),
                geometry.before - geometry.after,
                geometry.visible[:, None],
                reach[:, None],
            ],
            axis=1,
        )
        cells = grid.cells(geometry.after)
        triangles = topology().triangles
        ids = cover(cells, triangles, _order(cells, geometry.depth), (grid.width, grid.height))
        planes = interpolate(ids, cells, triangles, values)
        place, bend = np.ascontiguousarray(planes[..., :2]), planes[..., 2:4]
        alpha = self._alpha(ids, place, planes[..., 4])
        rows, columns = np.flatnonzero(alpha.max(1) > 0.003), np.flatnonzero(alpha.max(0) > 0.003)
        window = grid.window(frame)
        if not len(rows) or window[0] >= window[2] or window[1] >= window[3]:
            return None

        if np.abs(bend).max() > 0.05:
            bend = np.asarray(cv2.blur(bend, (5, 5)), np.float32)  # the far cheek's outline is a step in it
            out = look_up(image, grid.enlarge(grid.pixels() + bend, window))
            cover_mask = smoothstep(planes[..., 5], 0.0, 0.4)
        else:
            out = image[window[1] : window[3], window[0] : window[2]].copy()
            cover_mask = (cv2.dilate(alpha, np.ones((3, 3), np.uint8)) > 0.003).astype(np.float32)
        mask = np.clip(grid.enlarge(cover_mask * 255, window), 0, 255).astype(np.uint8)

        rows_ = slice(max(rows[0] - 1, 0), min(rows[-1] + 2, grid.height))
        columns_ = slice(max(columns[0] - 1, 0), min(columns[-1] + 2, grid.width))
        inner = grid.part(rows_, columns_)
        x0, y0, x1, y1 = inner.window(frame)
        if x0 < x1 and y0 < y1:
            view = out[y0 - window[1] : y1 - window[1], x0 - window[0] : x1 - window[0]]
            skin = self._skin(inner, place[rows_, columns_], gain, (x0, y0, x1, y1), width)
            opacity = np.ascontiguousarray(inner.enlarge(alpha[rows_, columns_], (x0, y0, x1, y1)))
            view[:] = cv2.blendLinear(np.ascontiguousarray(view), skin, 1 - opacity, opacity)
        return Patch.at(out, mask, window[0], window[1])

    def _alpha(
        self, ids: NDArray[np.int16], place: NDArray[np.float32], visible: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        mesh = topology()
        shown = np.ones(len(mesh.triangles), np.float32)
        shown[mesh.surface : mesh.surface + mesh.mouth] = 0
        shown[mesh.surface + mesh.mouth : mesh.rings.start] = float(self._options.source_eyes)
        shown[mesh.rings] = 0
        shown = np.append(shown, 0)  # ids of -1
        alpha = look_up(self._identity.alpha, place)
        return np.asarray(cv2.GaussianBlur(alpha * visible * shown[ids], (3, 3), 0), np.float32)

    def _skin(
        self,
        grid: Grid,
        place: NDArray[np.float32],
        gain: NDArray[np.float32],
        window: tuple[int, int, int, int],
        width: float,
    ) -> Image:
        """The source's skin in the target's light, uint8, for the pixels of `window`."""
        level = level_for(self._identity, width)
        texture = self._identity.textures[level]
        where = grid.enlarge(_rescaled(place, texture.shape[0]), window)
        skin = look_up(texture, where)
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
    return np.concatenate(
        [
            np.arange(mesh.rings.start, mesh.rings.stop),
            np.arange(mesh.fills.start, mesh.fills.stop),
            far_first,
        ]
    )
