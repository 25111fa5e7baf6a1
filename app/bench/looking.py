"""Looking at a picture afresh: landmarks and identity without any memory of earlier frames."""

from __future__ import annotations

from app.bench.identity import Embedding, IdentityNetwork
from engine.track.detector import Detector
from engine.track.landmarks import Landmarker, Region, region_from_detection, region_from_landmarks
from engine.types import Detection, Image, Points

LEAST_SCORE = 0.5
"""Confidence below which the landmark network saw no face."""
LOOKS = 2
"""The second look is taken from the first one's landmarks, so that the hint no longer matters."""


class Observer:
    """An eye that knows nothing of tracking or swapping; landmarks come unsmoothed."""

    def __init__(self, network: IdentityNetwork) -> None:
        self._detector = Detector()
        self._landmarker = Landmarker()
        self._network = network

    def detect(self, image: Image) -> list[Detection]:
        """All faces the detector sees."""
        return self._detector.detect(image)

    def look(self, image: Image, hint: Points) -> Points | None:
        """Landmarks (478, 3) of the face about where `hint` has one; None if there is none to see."""
        return self._locate(image, region_from_landmarks(hint))

    def find(self, image: Image) -> Points | None:
        """Landmarks of the largest face of a picture; None if there is none."""
        found = self.detect(image)
        if not found:
            return None
        largest = max(found, key=lambda one: float((one.box[2] - one.box[0]) * (one.box[3] - one.box[1])))
        return self._locate(image, region_from_detection(largest))

    def identify(self, image: Image, landmarks: Points) -> Embedding:
        """The face's embedding."""
        return self._network.embed(image, landmarks)

    def _locate(self, image: Image, region: Region) -> Points | None:
        points: Points | None = None
        for _ in range(LOOKS):
            points, score = self._landmarker.locate(image, region)
            if score < LEAST_SCORE:
                return None
            region = region_from_landmarks(points)
        return points
