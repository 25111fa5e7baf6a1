"""Where the source's skin is open: the inside of the target's mouth shows, and its eyes."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.eyes import source_share, toned
from engine.swap.mesh.grid import Grid, Window
from engine.swap.mesh.pixels import blurred, widely_blurred
from engine.swap.mesh.regions import Plane
from engine.swap.mesh.shape import smoothstep
from engine.swap.mesh.topology import LEFT_EYE, LIPS_INNER, RIGHT_EYE
from engine.types import Image, Points

EYE_HOLE = 0.86
"""Size of the opening for the target's eyes against the lids' contour: the lashes are the source's."""
SOFT_HOLE = 0.005
"""Blur of the borders of eyes and mouth, in face widths."""
SHADE, SHADE_REACH = 0.5, 0.06
"""How much darker a tongue is at the lips, and the Gaussian σ, face widths, over which this falls off
inwards. Between lips of another colour than its own it passes for lip without (correlation of the
mouth's opening on a dark clip: .91 without, .95 with)."""
FLESH = (0.2, 0.45)
"""Redness, 1 − (blue + green) / 2 red, from which to which something in the mouth is flesh, not teeth."""


def open_up(
    target: Image,
    made: Image,
    *,
    window: Window,
    grid: Grid,
    open_cells: Plane,
    points: Points,
    width: float,
    source_eyes: bool,
) -> None:
    """Let the target's mouth and eyes show in `made`, sharp to the pixel: the mouth shaded, the eyes in
    the source's tone.

    Args:
        target, made: the frame, and the source's skin over it, uint8 (h, w, 3), BGR, the pixels of
            `window`; `made` is written to.
        window: of the frame.
        grid: that of `open_cells`.
        open_cells: (grid.height, grid.width), 1 where nothing hides eyes and mouth from the camera.
        points: (542, 2), where the vertices go, frame pixels.
        width: of the face, pixels.
        source_eyes: leave the eyes to the source.
    """
    soft, share = max(SOFT_HOLE * width, 0.5), source_share(points)
    for ring in (LIPS_INNER,) if source_eyes else (LIPS_INNER, RIGHT_EYE, LEFT_EYE):
        outline = points[ring]
        if ring is not LIPS_INNER:
            outline = EYE_HOLE * outline + np.float32(1 - EYE_HOLE) * outline.mean(0)
        margin = int(3 * soft) + 2
        left, top, across, down = cv2.boundingRect(outline)
        x0, y0 = max(left - margin, window[0]), max(top - margin, window[1])
        x1, y1 = min(left + across + margin, window[2]), min(top + down + margin, window[3])
        if x1 - x0 < 2 or y1 - y0 < 2:
            continue
        hole = np.zeros((y1 - y0, x1 - x0), np.uint8)
        cv2.fillPoly(hole, [np.rint((outline - (x0, y0)) * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
        shown = grid.enlarge_part(open_cells, (x0, y0, x1, y1)) * blurred(hole, soft) * np.float32(1 / 255)
        part = slice(y0 - window[1], y1 - window[1]), slice(x0 - window[0], x1 - window[0])
        if ring is LIPS_INNER:
            inside = _shaded(target[part], shown * (1 - _depth(hole, SHADE_REACH * width)))
        else:
            inside = toned(made[part], target[part], width, share)
        made[part] = cv2.blendLinear(inside, made[part], shown, 1 - shown)


def _shaded(mouth: Image, near_lips: Plane) -> Image:
    """The mouth with its flesh darker where it lies `near_lips`, 0..1."""
    light = 1 - SHADE * near_lips * _flesh(mouth.astype(np.float32))
    return np.asarray(cv2.multiply(mouth, cv2.merge([light] * 3), dtype=cv2.CV_8U), np.uint8)


def _depth(hole: NDArray[np.uint8], sigma: float) -> Plane:
    """The hole blurred widely, 0..1; nothing lies open beyond the picture's border."""
    pad = int(3 * sigma) + 1
    padded = cv2.copyMakeBorder(hole, pad, pad, pad, pad, cv2.BORDER_CONSTANT)
    deep = widely_blurred(np.asarray(padded, np.uint8), sigma)
    return deep[pad:-pad, pad:-pad] * np.float32(1 / 255)


def _flesh(colour: NDArray[np.float32]) -> Plane:
    """1 for a tongue or lip, 0 for teeth, by how much red (h, w, BGR) has over blue and green."""
    return smoothstep(1 - (colour[..., 0] + colour[..., 1]) / (2 * colour[..., 2] + 1), *FLESH)
