"""The target's eyes in the source's colours: its gaze, lids and glints over the other's tone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.swap.mesh.pixels import blurred
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


def source_share(points: Points) -> float:
    """How far the tone of both eyes is the source's, 0..1; one figure, or they would look odd together.

    Args:
        points: (542, 2), the mesh's vertices, pixels.
    """
    aside = 0.0
    for ring, iris in ((RIGHT_EYE, IRIS_RIGHT), (LEFT_EYE, IRIS_LEFT)):
        outline = points[ring]
        width = float(np.linalg.norm(outline[0] - outline[8])) + 1e-3
        aside = max(aside, float(np.linalg.norm(points[iris] - outline.mean(0))) / width)
    return 1 - (1 - ASIDE_SHARE) * float(smoothstep(np.array(aside), *ASIDE))


def toned(source: Image, target: Image, width: float) -> NDArray[np.float32]:
    """The target's eye with the source's tone, float32 (h, w, 3).

    The source's iris was drawn where the target looks, so that the two bands show one gaze.

    Args:
        source, target: the same pixels, uint8 (h, w, 3), BGR.
        width: of the face, pixels.
    """
    sigma = DETAIL * width
    own, seen = source.astype(np.float32), target.astype(np.float32)
    return np.asarray(np.clip(blurred(own, sigma) + seen - blurred(seen, sigma), 0, 255), np.float32)
