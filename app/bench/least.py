"""The least that OpenCV needs around a face-swap network: align, normalise, paste the region.

Nothing is checked, nothing is kept, nobody is protected: the lower bound that `kawari bench overhead`
holds Kawari's neural path against.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.align import alignment
from engine.types import Image, Mask, Points


class Least:
    """Swaps with a network in as few calls as possible.

    Args:
        session: takes "target" (1, 3, size, size) RGB 0..1 and "source"; gives the picture.
        source: the network's source input.
        mask: uint8, size×size.
    """

    def __init__(self, session: Any, source: NDArray[np.float32], mask: Mask) -> None:
        self._session = session
        self._source = source
        self._mask = mask

    def swap(self, frame: Image, points: Points) -> Image:
        """A copy of the frame with the face at the five points swapped."""
        size = len(self._mask)
        matrix = alignment(points, "arcface", size)
        crop = cv2.warpAffine(frame, matrix, (size, size))
        blob = cv2.dnn.blobFromImage(crop, 1 / 255, swapRB=True)
        planes = self._session.run(None, {"target": blob, "source": self._source})[0][0]
        picture = cv2.convertScaleAbs(cv2.merge((planes[2], planes[1], planes[0])), alpha=255)

        back = cv2.invertAffineTransform(matrix)
        corners = np.array([[0, 0], [size, 0], [0, size], [size, size]]) @ back[:, :2].T + back[:, 2]
        height, width = frame.shape[:2]
        x0, y0 = np.maximum(corners.min(0).astype(int), 0)
        x1, y1 = np.minimum(corners.max(0).astype(int) + 1, (width, height))
        back[:, 2] -= (x0, y0)
        region = (int(x1 - x0), int(y1 - y0))
        patch = cv2.warpAffine(picture, back, region)
        weight = cv2.warpAffine(self._mask, back, region).astype(np.float32) * np.float32(1 / 255)
        out = frame.copy()
        view = out[y0:y1, x0:x1]
        view[:] = cv2.blendLinear(view, patch, 1 - weight, weight)
        return out
