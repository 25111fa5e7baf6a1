"""The target's eyes in the source's colours: its gaze, lids and glints over the other's tone."""

from __future__ import annotations

import cv2
import numpy as np

from engine.swap.mesh.pixels import widely_blurred
from engine.swap.mesh.shape import smoothstep
from engine.swap.mesh.topology import IRIS_LEFT, IRIS_RIGHT, LEFT_EYE, RIGHT_EYE
from engine.types import Image, Points

DETAIL = 0.014
"""Gaussian σ, face widths, that parts an eye's detail (the target's) from its tone (the source's): about
a third of an iris' radius. A larger one leaves more of the target, a smaller one loses its expression
(measured: identity gap .569 at .04, .598 at .012; correlation of the opening .90 and .83)."""
ASIDE = (0.08, 0.18)
"""Distance of an iris from the middle of its eye, in eye widths, from which the tone comes less and
less from the source: its photo, looking ahead, has not the white that shows then."""
ASIDE_SHARE = 0.3
"""What is left of it beyond."""
_RINGS = np.stack([RIGHT_EYE, LEFT_EYE])


def source_share(points: Points) -> float:
    """How far the tone of both eyes is the source's, 0..1; one figure, or they would look odd together.

    Args:
        points: (542, 2), the mesh's vertices, pixels.
    """
    outlines, irises = points[_RINGS], points[[IRIS_RIGHT, IRIS_LEFT]]
    widths = np.hypot(*(outlines[:, 0] - outlines[:, 8]).T) + 1e-3
    aside = np.hypot(*(irises - outlines.mean(1)).T) / widths
    return 1 - (1 - ASIDE_SHARE) * float(smoothstep(aside.max(), *ASIDE))


def toned(source: Image, target: Image, width: float, share: float = 1.0) -> Image:
    """The target's eye with the source's tone, uint8 (h, w, 3), BGR.

    The source's iris was drawn where the target looks, so that the two bands show one gaze.

    Args:
        source, target: the same pixels, uint8 (h, w, 3), BGR.
        width: of the face, pixels.
        share: 0..1, how far the tone is the source's.
    """
    difference = np.asarray(cv2.subtract(source, target, dtype=cv2.CV_32F), np.float32)
    tone = widely_blurred(difference, DETAIL * width) * np.float32(share)
    return np.asarray(cv2.add(target, tone, dtype=cv2.CV_8U), np.uint8)
