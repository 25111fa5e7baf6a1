"""The mesh swapper: the source's skin and shape on the target's pose, light and expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.identity.photo import SourcePhoto
from engine.quality import LADDER, Quality
from engine.swap.mesh.compose import Composer, Geometry
from engine.swap.mesh.expression import Expression
from engine.swap.mesh.grid import Grid
from engine.swap.mesh.identity import MeshIdentity, prepare_identity
from engine.swap.mesh.illumination import Illumination
from engine.swap.mesh.neutral import NeutralShape
from engine.swap.mesh.sample import sample_face
from engine.swap.mesh.shape import facing, smoothstep, transfer
from engine.swap.mesh.topology import (
    INNER_RING,
    IRIS_LEFT,
    IRIS_RIGHT,
    LEFT_EYE,
    OVAL,
    RIGHT_EYE,
    SURFACE,
    VERTICES,
    with_rings,
)
from engine.swap.mesh.unwrap import iris_points
from engine.track.pose import fit
from engine.types import Face, Image, Patch, Points

INNER_SHARE = 0.45
"""How far the inner ring follows the oval; the outer one stays."""
LEAST_VISIBLE = 0.3
"""Share of the face's surface that must face the camera, or there is nothing to swap on."""
FULL_STRENGTH = 1.25
"""Share of the measured difference in shape at strength 1: a face seen from the front shows less of it
than there is, so that about 0.8 makes the source's own shape and 1 a little more (measured by identity)."""
JUMP = 0.5
"""Move of the face between two frames, in face widths, after which its light is measured anew."""


@dataclass(frozen=True, slots=True)
class MeshOptions:
    """Choices of the mesh swapper.

    Attributes:
        source_eyes: show the source's eyes wholly; else the target's own, toned like the source's.
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


class MeshFaceSwap:
    """Everything the mesh swapper remembers of one face.

    Attributes:
        intended: (468, 2), frame pixels, where the last patch puts the landmarks; None before the
            first. The quality bench holds it against what is seen in the output.
        quality: the controller's hints; `grid` and `expression` are heeded.
    """

    def __init__(self, identity: MeshIdentity, options: MeshOptions) -> None:
        self.intended: Points | None = None
        self._identity = identity
        self._options = options
        self._composer = Composer(identity, source_eyes=options.source_eyes)
        self._neutral = NeutralShape()
        self._illumination = Illumination(identity)
        self._expression = Expression()
        self._last: tuple[float, float, float, float] | None = None
        self.quality: Quality = LADDER[0]

    def patch(self, image: Image, face: Face, strength: float) -> Patch | None:
        """See `engine.swap.base.FaceSwap.patch`. The patch holds the bent background, too."""
        frame = (image.shape[1], image.shape[0])
        geometry = self._geometry(face.landmarks, strength)
        if geometry is None:
            return None
        grid = Grid.over(geometry.after, frame, self.quality.grid)
        if grid is None:
            return None
        self._notice_jump(face)
        self.intended = geometry.after[:SURFACE]
        sample = sample_face(image, geometry.before, geometry.facing)
        gain = self._illumination.update(sample)
        if self._options.expression and self.quality.expression:
            ratio = 1 + (self._expression.update(sample) - 1) * self._options.expression
            gain = gain * ratio[..., None]
        return self._composer.patch(image, grid, geometry, gain)

    def _notice_jump(self, face: Face) -> None:
        box = face.box
        moved = 0.0 if self._last is None else max(abs(a - b) for a, b in zip(box, self._last, strict=True))
        if moved > JUMP * face.width:
            self._illumination.reset()
        self._last = box

    def _geometry(self, landmarks: Points, strength: float) -> Geometry | None:
        surface = landmarks[:SURFACE]
        if not np.isfinite(landmarks).all() or np.ptp(surface[:, 0]) < 8:
            return None
        scale, rotation, shift = fit(landmarks)
        current = (surface - shift) @ rotation / scale
        neutral = self._neutral.update(current, rotation)
        change = transfer(self._identity.shape, neutral, current)
        move = (FULL_STRENGTH * strength * scale * change @ rotation.T).astype(np.float32)
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
        return Geometry(before, after, visible, front, moved[:, 2], float(np.ptp(surface[:, 0])))
