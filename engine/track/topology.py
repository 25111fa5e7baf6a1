"""Names for the 478 landmarks of MediaPipe's FaceMesh, and the mesh between them.

"left" and "right" are the person's own. Rings are closed and ordered: neighbours in the tuple are
neighbours on the face, and the last is the first one's neighbour. The indices are those of
MediaPipe's face mesh; triangles and shape come from its canonical face model
(Apache-2.0, `models/embedded/canonical_face.npz`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import models

Indices = NDArray[np.intp]


def _frozen(values: Any, dtype: Any = np.intp) -> NDArray[Any]:
    array = np.ascontiguousarray(values, dtype)
    array.setflags(write=False)
    return array


def _ring(indices: str) -> Indices:
    return _frozen(indices.split())


SURFACE = 468
"""Landmarks on the skin; the ten after them are the irises."""

OVAL: Indices = _ring(
    "10 338 297 332 284 251 389 356 454 323 361 288 397 365 379 378 400 377 152 148 176 149 150 136"
    " 172 58 132 93 234 127 162 21 54 103 67 109"
)
"""Ring round the face, 36, from the middle of the forehead to the person's left."""

RIGHT_EYE: Indices = _ring("33 246 161 160 159 158 157 173 133 155 154 153 145 144 163 7")
"""Ring, 16: outer corner, upper lid, inner corner (place 8), lower lid."""
LEFT_EYE: Indices = _ring("263 466 388 387 386 385 384 398 362 382 381 380 374 373 390 249")
"""Ring, 16, in the same order as `RIGHT_EYE`."""

RIGHT_BROW: Indices = _ring("46 53 52 65 55 107 66 105 63 70")
"""Ring, 10: lower edge from outside inwards, then the upper edge back."""
LEFT_BROW: Indices = _ring("276 283 282 295 285 336 296 334 293 300")
"""Ring, 10, in the same order as `RIGHT_BROW`."""

LIPS_OUTER: Indices = _ring("61 185 40 39 37 0 267 269 270 409 291 375 321 405 314 17 84 181 91 146")
"""Ring, 20: right corner, upper edge, left corner (place 10), lower edge."""
LIPS_INNER: Indices = _ring("78 191 80 81 82 13 312 311 310 415 308 324 318 402 317 14 87 178 88 95")
"""Ring, 20, in the same order as `LIPS_OUTER`."""

NOSE_TIP = 1
NOSE_BRIDGE: Indices = _ring("168 6 197 195 5 4 1")
"""From between the eyes down to the tip."""
NOSE: Indices = _ring("168 6 197 195 5 4 1 19 2 97 98 64 48 115 220 45 275 440 344 278 294 327 326")
"""Bridge, tip, base and wings; no ring."""

RIGHT_IRIS: Indices = _frozen(range(468, 473))
"""Centre, then the rim to the picture's right, top, left and bottom (for an upright face)."""
LEFT_IRIS: Indices = _frozen(range(473, 478))
IRISES: Indices = _frozen(range(468, 478))

_canonical = np.load(models.embedded("canonical_face.npz"))

CANONICAL: NDArray[np.float64] = _frozen(_canonical["vertices"] * (1.0, -1.0, -1.0), np.float64)
"""float64 (468, 3), cm: the mean face, looking into the camera, in the axes of a picture
(x right, y down, z away from the camera)."""
UV: NDArray[np.float32] = _frozen(_canonical["uv"], np.float32)
"""float32 (468, 2), 0..1: the canonical face flattened, v upwards."""
TRIANGLES: Indices = _frozen(_canonical["triangles"])
"""(898, 3), closed over the eyes and the mouth."""
RIGID: Indices = _frozen(_canonical["basis"])
"""(33,), landmarks that move least with the expression, for fitting the pose."""
RIGID_WEIGHTS: NDArray[np.float64] = _frozen(_canonical["weights"], np.float64)
"""(33,), MediaPipe's `procrustes_landmark_basis`."""


def _skin(triangles: Indices) -> Indices:
    holes = (RIGHT_EYE, LEFT_EYE, LIPS_INNER)
    inside = np.zeros(len(triangles), bool)
    for ring in holes:
        inside |= np.isin(triangles, ring).all(1)
    return triangles[~inside]


def _edges(triangles: Indices) -> Indices:
    pairs = triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    return np.unique(np.sort(pairs, 1), axis=0)


SKIN_TRIANGLES: Indices = _frozen(_skin(TRIANGLES))
"""(n, 3), `TRIANGLES` without those over the eyes and the open mouth."""
EDGES: Indices = _frozen(_edges(TRIANGLES))
"""(m, 2), every edge of `TRIANGLES` once."""
