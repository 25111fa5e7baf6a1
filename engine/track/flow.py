"""Carries landmarks from one frame to the next by optical flow, where they can't be measured.

Pyramidal Lucas-Kanade (J.-Y. Bouguet, "Pyramidal implementation of the affine Lucas Kanade feature
tracker", Intel 2001) on some of the landmarks, checked forward and backward (Z. Kalal et al.,
"Forward-backward error", ICPR 2010), in a crop of fixed size, so that its cost does not depend on
the picture's or the face's size.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.track.landmarks import Region, cut, region_from_landmarks
from engine.track.topology import (
    CANONICAL,
    LEFT_BROW,
    LEFT_EYE,
    LIPS_INNER,
    LIPS_OUTER,
    NOSE,
    RIGHT_BROW,
    RIGHT_EYE,
)
from engine.types import Image, Points

Grey = NDArray[np.uint8]

_SIDE = 224
_WINDOW = (17, 17)
_LEVELS = 3
_MAX_RETURN = 1.0
"""Crop pixels that a point may miss its start by when it is tracked forward and back."""
_MIN_SHARE = 0.35
"""Of the points must survive, or the flow is not believed."""
_MAX_OWN = 14.0
"""Crop pixels (a tenth of the face) that a point may move against the face as a whole."""
_REACH = 0.06
"""Face widths over which a point's own motion spreads to its neighbours."""


def _subset(count: int = 120) -> NDArray[np.intp]:
    """Landmarks to track: those with texture, and an even spread over the rest of the face."""
    named = [LEFT_EYE[::2], RIGHT_EYE[::2], LEFT_BROW[::2], RIGHT_BROW[::2]]
    chosen = np.concatenate([*named, LIPS_OUTER, LIPS_INNER[::2], NOSE[::3]]).tolist()
    while len(chosen) < count:  # the farthest from those chosen so far
        gap = np.linalg.norm(CANONICAL[:, None] - CANONICAL[chosen][None], axis=2).min(1)
        chosen.append(int(gap.argmax()))
    return np.array(chosen, np.intp)


_POINTS = _subset()


def _spread() -> NDArray[np.float32]:
    """(478, n): how much each tracked point's own motion counts for each landmark."""
    width = float(np.ptp(CANONICAL[:, 0]))
    irises = [CANONICAL[ring].mean(0) for ring in (RIGHT_EYE, LEFT_EYE) for _ in range(5)]
    every = np.concatenate([CANONICAL, irises])
    gap = np.linalg.norm(every[:, None] - CANONICAL[_POINTS][None], axis=2) / width
    weights: NDArray[np.float32] = np.exp(-0.5 * (gap / _REACH) ** 2).astype(np.float32)
    return weights


_SPREAD = _spread()


class Carried(NamedTuple):
    """Where the flow saw a face go.

    Attributes:
        landmarks: float32 (478, 3), pixels of the new frame.
        share: 0..1, of the tracked points that passed all checks.
    """

    landmarks: Points
    share: float


def carry(before: Image, after: Image, landmarks: Points, motion: Points | None = None) -> Carried | None:
    """Move landmarks from one frame to a later one.

    Args:
        before, after: uint8, H×W×3, BGR, the same size.
        landmarks: float32 (478, 3), pixels of `before`.
        motion: (2,), pixels by which the face is expected to have moved; helps in fast motion.

    Returns:
        The carried landmarks, or None if too few points could be followed (blur, occlusion,
        a cut in the film).
    """
    region = region_from_landmarks(landmarks)
    moved = region
    if motion is not None:
        moved = Region(region.cx + float(motion[0]), region.cy + float(motion[1]), region.size, region.angle)
    first, second = _grey(before, region), _grey(after, moved)
    matrix = region.matrix(_SIDE)
    start = cv2.transform(landmarks[_POINTS][None, :, :2], cv2.invertAffineTransform(matrix))[0]
    end, good = _follow(first, second, start)
    share = float(good.mean())
    if share < _MIN_SHARE:
        return None
    rigid, inliers = cv2.estimateAffinePartial2D(
        start[good], end[good], method=cv2.RANSAC, ransacReprojThreshold=4.0, maxIters=200
    )
    if rigid is None or float(inliers.mean()) < 0.5:
        return None
    scale = float(np.hypot(rigid[0, 0], rigid[1, 0]))
    if not 0.75 < scale < 1.33:
        return None
    # What the similarity leaves (expression, turning) is spread smoothly over the mesh.
    left = end - cv2.transform(start[None], rigid)[0]
    good &= np.hypot(*left.T) < _MAX_OWN
    left = left[good]
    weights = _SPREAD[:, good]
    local = weights @ left / (weights.sum(1, keepdims=True) + np.float32(0.3))
    every = cv2.transform(landmarks[None, :, :2], cv2.invertAffineTransform(matrix))[0]
    crop = cv2.transform(every[None], rigid)[0] + local
    carried = np.empty_like(landmarks)
    carried[:, :2] = cv2.transform(crop[None].astype(np.float32), moved.matrix(_SIDE))[0]
    carried[:, 2] = landmarks[:, 2] * np.float32(scale)
    return Carried(carried, float(good.mean()))


def _grey(image: Image, region: Region) -> Grey:
    return np.asarray(cv2.cvtColor(cut(image, region, _SIDE), cv2.COLOR_BGR2GRAY), np.uint8)


def _follow(first: Grey, second: Grey, start: Points) -> tuple[Points, NDArray[np.bool_]]:
    """End of each point, and whether it can be believed."""
    start = np.ascontiguousarray(start, np.float32)
    criteria = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 12, 0.03)

    def lucas_kanade(a: Grey, b: Grey, points: Points) -> tuple[Points, NDArray[np.uint8]]:
        moved, found, _ = cv2.calcOpticalFlowPyrLK(
            a, b, points, np.empty_like(points), winSize=_WINDOW, maxLevel=_LEVELS, criteria=criteria
        )
        return np.asarray(moved, np.float32), np.asarray(found, np.uint8)

    end, found = lucas_kanade(first, second, start)
    back, returned = lucas_kanade(second, first, end)
    miss = np.hypot(*(back - start).T)
    good = (found[:, 0] > 0) & (returned[:, 0] > 0) & (miss < _MAX_RETURN)
    return end, good
