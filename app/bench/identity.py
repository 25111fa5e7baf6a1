"""The identity network that judges whose face a picture shows.

It is not part of Kawari and never used to make a picture: a judge that has a hand in the work
would be no judge. Expected is the contract of MobileFaceNet trained with ArcFace loss: a batch of
aligned faces (N, 3, 112, 112), BGR, (x − 127.5) / 127.5, to embeddings (N, D); the ArcFace
five-point template (Deng et al., 2019, arXiv:1801.07698) for alignment.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.runtime.session import open_session
from engine.types import Image, Points

Embedding = NDArray[np.float32]

SIDE: Final = 112
TEMPLATE: Final = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]],
    np.float32,
)
"""Eyes, nose tip, mouth corners in a 112-pixel crop, from left to right in the picture."""
EYE_CORNERS: Final = ((33, 133), (362, 263))
NOSE_AND_MOUTH: Final = (1, 61, 291)


class IdentityNetwork:
    """Embeds faces.

    Raises:
        ModelError: the file is missing or does not have the contract above.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise ModelError(
                f"The identity network {path.name} that judges the result is not there",
                "Name a MobileFaceNet ONNX file by --identity-model, or the folder above models/ by --data",
            )
        self.session = open_session(path)
        shape = self.session.get_inputs()[0].shape
        if len(shape) != 4 or list(shape[1:]) != [3, SIDE, SIDE]:
            raise ModelError(
                f"{path.name} takes {shape}, not (N, 3, {SIDE}, {SIDE})",
                "Use a MobileFaceNet for 112×112 faces",
            )
        self.input = self.session.get_inputs()[0].name

    def embed(self, image: Image, landmarks: Points) -> Embedding:
        """Unit embedding of one face, the mean of the crop's and its mirror image's.

        Args:
            image: uint8, H×W×3, BGR.
            landmarks: (478, 2 or 3) FaceMesh points of the face, pixels.
        """
        crop = align(image, landmarks)
        batch = np.stack([crop, crop[:, ::-1]]).transpose(0, 3, 1, 2).astype(np.float32)
        both = self.session.run(None, {self.input: (batch - 127.5) / 127.5})[0]
        total = both.sum(0)
        return np.asarray(total / max(float(np.linalg.norm(total)), 1e-9), np.float32)


def align(image: Image, landmarks: Points) -> Image:
    """The face turned and scaled onto the template, uint8 (112, 112, 3) BGR."""
    points = landmarks[:, :2].astype(np.float32)
    five = np.stack([*(points[list(pair)].mean(0) for pair in EYE_CORNERS), *points[list(NOSE_AND_MOUTH)]])
    matrix, _ = cv2.estimateAffinePartial2D(five, TEMPLATE, method=cv2.LMEDS)
    scale = math.hypot(matrix[0, 0], matrix[1, 0])
    inverse = cv2.invertAffineTransform(matrix)
    corners = np.array([[0, 0, 1], [SIDE, 0, 1], [0, SIDE, 1], [SIDE, SIDE, 1]], np.float64) @ inverse.T
    x0, y0 = np.maximum(np.floor(corners.min(0)).astype(int) - 4, 0)
    x1, y1 = np.ceil(corners.max(0)).astype(int) + 4
    region: NDArray[Any] = image[y0:y1, x0:x1]
    if region.size == 0:
        return np.zeros((SIDE, SIDE, 3), np.uint8)
    if scale < 0.7:  # shrinking without a blur would alias
        region = cv2.GaussianBlur(region, (0, 0), 0.4 / scale)
    shifted = np.array(matrix, np.float64)
    shifted[:, 2] += shifted[:, :2] @ np.array([x0, y0], np.float64)
    return np.asarray(cv2.warpAffine(region, shifted, (SIDE, SIDE), flags=cv2.INTER_LINEAR), np.uint8)
