"""Where the source's skin is open: the inside of the target's mouth shows, and its eyes."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.eyes import source_share, toned
from engine.swap.mesh.grid import Grid, Window
from engine.swap.mesh.pixels import blurred, shrunk, stretched
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
    skin: Image,
    opacity: Plane,
    *,
    window: Window,
    grid: Grid,
    open_cells: Plane,
    points: Points,
    width: float,
    source_eyes: bool,
) -> None:
    """Take mouth and eyes out of `opacity`, sharp to the pixel.

    The mouth is shaded in `target`; what the eyes take of the source's tone is written into `skin`.

    Args:
        target, skin: the frame and the source's skin, uint8 (h, w, 3), BGR, the pixels of `window`.
        opacity: (h, w), of the skin.
        window: of the frame.
        grid: that of `open_cells`.
        open_cells: (grid.height, grid.width), 1 where an eye or the mouth lies open to the camera.
        points: (542, 2), where the vertices go, frame pixels.
        width: of the face, pixels.
        source_eyes: leave the eyes to the source.
    """
    soft, reach = max(SOFT_HOLE * width, 0.5), SHADE_REACH * width
    for ring in (LIPS_INNER,) if source_eyes else (LIPS_INNER, RIGHT_EYE, LEFT_EYE):
        mouth = ring is LIPS_INNER
        outline = points[ring]
        if not mouth:
            outline = outline.mean(0) + EYE_HOLE * (outline - outline.mean(0))
        margin = int(3 * soft) + 2
        x0, y0 = np.maximum(np.floor(outline.min(0)).astype(int) - margin, window[:2])
        x1, y1 = np.minimum(np.ceil(outline.max(0)).astype(int) + margin + 1, window[2:])
        if x1 - x0 < 2 or y1 - y0 < 2:
            continue
        hole = np.zeros((y1 - y0, x1 - x0), np.uint8)
        cv2.fillPoly(hole, [np.round((outline - (x0, y0)) * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
        hidden = _share(hole, soft)
        hidden *= grid.enlarge_part(open_cells, (int(x0), int(y0), int(x1), int(y1)))
        part = slice(y0 - window[1], y1 - window[1]), slice(x0 - window[0], x1 - window[0])
        if mouth:
            inside = target[part].astype(np.float32)
            light = 1 - SHADE * hidden * (1 - _depth(hole, reach)) * _flesh(inside)
            target[part] = inside * light[..., None]
        else:
            own = skin[part]
            skin[part] = own + (toned(own, target[part], width) - own) * hidden[..., None]
            hidden *= np.float32(1 - source_share(points))
        opacity[part] *= 1 - hidden


def _depth(hole: NDArray[np.uint8], sigma: float) -> Plane:
    """`_share` for a wide blur, worked out small; nothing lies open beyond the picture's border."""
    height, width = hole.shape
    factor = max(int(sigma / 3), 1)
    pad = int(3 * sigma / factor) + 1
    small = shrunk(hole, max(width // factor, 1), max(height // factor, 1))
    small = np.asarray(cv2.copyMakeBorder(small, pad, pad, pad, pad, cv2.BORDER_CONSTANT), np.uint8)
    deep = _share(small, sigma / factor)[pad:-pad, pad:-pad]
    return stretched(np.ascontiguousarray(deep), width, height)


def _flesh(colour: NDArray[np.float32]) -> Plane:
    """1 for a tongue or lip, 0 for teeth, by how much red (h, w, BGR) has over blue and green."""
    return smoothstep(1 - (colour[..., 0] + colour[..., 1]) / (2 * colour[..., 2] + 1), *FLESH)


def _share(hole: NDArray[np.uint8], sigma: float) -> Plane:
    """The hole with a border blurred by `sigma` pixels, 0..1."""
    return blurred(hole, sigma) * np.float32(1 / 255)
