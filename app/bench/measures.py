"""What the quality bench measures, as plain functions of landmarks, embeddings and luminance.

Landmarks are MediaPipe FaceMesh points (478, 2 or 3), frame pixels; lengths are divided by the
*inter-ocular distance*, here the distance of the outer eye corners (as in the 300-W protocol), so
that figures do not depend on the size of the face.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.types import Points

Array = NDArray[np.float64]

OUTER_EYE_CORNERS = (33, 263)
INNER_LIPS = (13, 14)
RIGHT_EYE = (159, 145, 33, 133)
"""Upper lid, lower lid, outer corner, inner corner."""
LEFT_EYE = (386, 374, 263, 362)
SURFACE = 468
"""Points on the skin; the ten after them are the irises."""


def distance(points: Points, a: int, b: int) -> float:
    """Distance of two landmarks in the image plane."""
    return float(np.linalg.norm(points[a, :2].astype(np.float64) - points[b, :2]))


def interocular(points: Points) -> float:
    """Distance of the outer eye corners, pixels."""
    return distance(points, *OUTER_EYE_CORNERS)


def mouth_opening(points: Points) -> float:
    """Gap of the inner lips over the inter-ocular distance; 0 = closed."""
    return distance(points, *INNER_LIPS) / interocular(points)


def eye_opening(points: Points) -> float:
    """Mean lid gap of both eyes, each over its own width; about .3 open, below .1 closed."""
    ratios = [
        distance(points, up, low) / max(distance(points, outer, inner), 1e-6)
        for up, low, outer, inner in (RIGHT_EYE, LEFT_EYE)
    ]
    return float(np.mean(ratios))


def correlation(a: Sequence[float], b: Sequence[float], least_spread: float) -> float | None:
    """Pearson's r; None when there is nothing to follow.

    Args:
        a: measured on the input, one value a frame.
        b: the same measured on the output.
        least_spread: the standard deviation of `a` below which the clip shows no movement to speak
            of, so that r would compare noise with noise.
    """
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if len(x) < 3 or x.std() < least_spread:
        return None
    if y.std() < 1e-9:
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])


def landmark_error(seen: Points, intended: Points) -> float:
    """Mean distance between two sets of surface landmarks over the inter-ocular distance."""
    gap = np.linalg.norm(seen[:SURFACE, :2].astype(np.float64) - intended[:SURFACE, :2], axis=1)
    return float(gap.mean()) / interocular(intended)


def jitter(track: Sequence[Points]) -> float | None:
    """How far the landmarks of a head that does not move stray from their own mean.

    Root mean square, over points and frames, of the distance to the point's mean position, over
    the inter-ocular distance.
    """
    if len(track) < 3:
        return None
    points = np.stack([p[:SURFACE, :2] for p in track]).astype(np.float64)
    stray = np.square(points - points.mean(0)).sum(-1)
    return float(np.sqrt(stray.mean())) / interocular(track[0])


def flicker(luminance: Sequence[float]) -> float | None:
    """Frame-to-frame unrest of a region's mean luminance, levels.

    Root mean square of x[t] − (x[t−1] + x[t+1]) / 2: a change that goes on (a lamp, a head that
    turns) cancels, one that comes back at once does not.
    """
    x = np.asarray(luminance, np.float64)
    if len(x) < 5:
        return None
    return float(np.sqrt(np.mean(np.square(x[1:-1] - (x[:-2] + x[2:]) / 2))))


def cosine_distance(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """1 − cosine of two unit embeddings: 0 = same picture, about 1 = strangers."""
    return 1 - float(np.dot(a, b))


def gap_closed(before: Sequence[float], after: Sequence[float], floor: float) -> float | None:
    """The share of the way from the target person to the source person.

    (d(target, src′) − d(output, src′)) / (d(target, src′) − d(src, src′)), where src′ is a photo of
    the source person that the swapper never saw. Sums over frames, so that a frame whose target
    already resembles the source does not outweigh the rest.

    Args:
        before: d(target, src′), one a frame.
        after: d(output, src′), one a frame.
        floor: d(src, src′).
    """
    if not before:
        return None
    room = float(np.sum(before)) - len(before) * floor
    if room <= 0:
        return None
    return (float(np.sum(before)) - float(np.sum(after))) / room


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of what was measured; None if nothing was."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
