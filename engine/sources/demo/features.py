"""Eyes that close and a mouth that opens: ready-made pieces of the portrait, one for each step.

Both work column by column: along a column of pixels a lid or a lip is a point that moves, and what
lies between two such points is stretched. A lid slides over the eye instead of squeezing it; below
the upper teeth, which stay, a dark mouth appears.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.track.topology import LEFT_BROW, LEFT_EYE, LIPS_INNER, OVAL, RIGHT_BROW, RIGHT_EYE
from engine.types import Image, Points

Floats = NDArray[np.floating[Any]]
_DARK, _TONGUE = np.array((18, 14, 32), np.float32), np.array((58, 52, 112), np.float32)


@dataclass(frozen=True, slots=True)
class Feature:
    """A rectangle of the portrait in all its states.

    Attributes:
        x, y: its first pixel.
        states: uint8, h×w×3, BGR; from the first to the last step.
    """

    x: int
    y: int
    states: tuple[Image, ...]

    def show(self, portrait: Image, amount: float) -> None:
        """Put the state for 0..1 into the portrait."""
        state = self.states[round(min(1.0, max(0.0, amount)) * (len(self.states) - 1))]
        portrait[self.y : self.y + state.shape[0], self.x : self.x + state.shape[1]] = state


def eye(portrait: Image, face: Points, *, left: bool, steps: int = 8) -> Feature:
    """One eye from open to closed.

    Args:
        portrait: uint8, H×W×3, BGR.
        face: (478, 3), pixels of the portrait.
        left: the person's left eye.
        steps: number of states.
    """
    ring, brow = (LEFT_EYE, LEFT_BROW) if left else (RIGHT_EYE, RIGHT_BROW)
    upper, lower = face[ring[:9], :2], face[[*ring[8:], ring[0]], :2]
    x0, x1 = int(upper[:, 0].min()) - 2, int(upper[:, 0].max()) + 3
    columns = np.arange(x0, x1, dtype=np.float32)
    lid, bottom = _line(upper, columns), _line(lower, columns)
    height = float((bottom - lid).max())
    fold = lid - np.float32(0.8 * float((lid - _line(face[brow[:5], :2], columns)).mean()))
    y0, y1 = int(fold.min()) - 1, int(bottom.max() + 0.3 * height) + 2
    rows = np.arange(y0, y1, dtype=np.float32)[:, None]
    lash = lid + np.float32(0.04 * height)
    band = np.float32(0.22 * height)  # the lashes move as they are, only the skin above is stretched
    states = []
    for step in range(steps):
        edge = lash + np.float32(step / (steps - 1)) * (bottom - lash)
        skin = fold + (rows - fold) * (lash - band - fold) / (edge - band - fold)
        source = np.where(rows > edge - band, rows - edge + lash, np.where(rows > fold, skin, rows))
        moved = _sample(portrait, columns, source)
        covered = _between(rows, fold, edge, soft=0.06 * height)
        states.append(_mix(portrait[y0:y1, x0:x1], moved, covered))
    return Feature(x0, y0, tuple(states))


def mouth(portrait: Image, face: Points, steps: int = 20) -> Feature:
    """The mouth and the chin, from closed lips (0) over the photo's own (1/3) to wide open (1)."""
    lips = face[LIPS_INNER, :2]
    right, left = lips[0], lips[10]
    width = float(np.hypot(*(left - right)))
    centre = float((left[0] + right[0]) / 2)
    reach = float(np.ptp(face[:468, 0]) * 0.52)
    x0, x1 = int(centre - reach), int(centre + reach) + 1
    columns = np.arange(x0, x1, dtype=np.float32)
    upper, lower = _line(lips[:11], columns), _line(np.concatenate([lips[10:], lips[:1]]), columns)
    chin = _line(_jaw(face), columns)
    neck = chin + np.float32(0.75 * width)
    y0, y1 = int(min(upper.min(), lower.min())) - 2, min(portrait.shape[0], int(neck.max()) + 2)
    rows = np.arange(y0, y1, dtype=np.float32)[:, None]
    across = (columns - centre) / np.float32(width / 2)
    lips_open = 1 - np.clip(np.abs(across), 0, 1) ** np.float32(2.8)
    jaw = np.cos(np.clip((columns - centre) / np.float32(reach), -1, 1) * np.float32(np.pi / 2)) ** 2
    teeth = lower - upper
    most = np.float32(0.3 * width)
    states = []
    for step in range(steps):
        amount = step / (steps - 1) * 1.5 - 0.5
        if amount < 0:  # −0.5 … 0: the lower lip goes up over the teeth
            lip, fall = 2 * amount * 0.92 * teeth, np.float32(amount * float(teeth.max())) * jaw
        else:
            lip, fall = amount * most * lips_open, np.float32(amount * 0.9) * most * jaw
        source = _squeeze(rows, [(lower, lip), (chin, fall), (neck, np.zeros_like(fall))])
        moved = _sample(portrait, columns, source)
        soft = np.float32(0.012 * width)
        # rows below the moved lip show the moved skin, those above it the teeth as they were
        below = np.clip((rows - (lower + lip)) / soft + np.float32(0.5), 0, 1)
        image = _mix(portrait[y0:y1, x0:x1], moved, below)
        if amount > 0:
            depth = np.clip((rows - lower) / np.maximum(lip, 1), 0, 1)[..., None]
            inside = _DARK + (_TONGUE - _DARK) * depth**2
            gap = _between(rows, lower - soft, lower + lip, soft=float(soft) * 2) * (np.abs(across) < 0.97)
            image = _mix(image, inside, cv2.GaussianBlur(gap, (0, 0), max(0.6, float(soft))))
        states.append(image)
    return Feature(x0, y0, tuple(states))


def _jaw(face: Points) -> Points:
    lower = face[OVAL[9:28], :2]
    return lower[np.argsort(lower[:, 0])]


def _line(points: Points, columns: Floats) -> Floats:
    """Height of a polyline over each column; level beyond its ends."""
    order = np.argsort(points[:, 0])
    return np.asarray(np.interp(columns, points[order, 0], points[order, 1]), np.float32)


def _squeeze(rows: Floats, moves: list[tuple[Floats, Floats]]) -> Floats:
    """For each pixel the row it comes from, when the points `moves` = (row, shift) move per column."""
    source = np.broadcast_to(rows, (rows.shape[0], moves[0][0].size)).copy()
    for (a, shift_a), (b, shift_b) in itertools.pairwise(moves):
        start, end = a + shift_a, b + shift_b
        inside = (rows >= start) & (rows < end)
        source = np.where(inside, a + (rows - start) * (b - a) / np.maximum(end - start, 1), source)
    first, shift = moves[0]
    return np.asarray(np.where(rows < first + shift, rows, source), np.float32)


def _sample(portrait: Image, columns: Floats, source_rows: Floats) -> Image:
    across = np.ascontiguousarray(np.broadcast_to(columns, source_rows.shape))
    return cv2.remap(  # type: ignore[return-value]
        portrait,
        across,
        np.asarray(source_rows, np.float32),
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )


def _between(rows: Floats, top: Floats, bottom: Floats, soft: float) -> Floats:
    """1 between two lines, 0 outside, with soft edges."""
    soft = max(soft, 1.0)
    inside = np.minimum((rows - top) / soft, (bottom - rows) / soft + 0.5)
    return np.asarray(np.clip(inside, 0, 1), np.float32)


def _mix(below: Image, above: NDArray[np.uint8] | Floats, alpha: Floats) -> Image:
    weight = np.asarray(alpha, np.float32)[..., None]
    mixed = below + (np.asarray(above, np.float32) - below) * weight
    return np.clip(mixed + 0.5, 0, 255).astype(np.uint8)
