"""Decides whether a detection really is a face, and measures it.

The landmark network answers any region with a face-like mesh, often with full confidence. A real
face is told from the rest by looking several times: the region of one look comes from the
landmarks of the look before, and a real face gives the same answer again.
"""

from __future__ import annotations

import numpy as np

from engine.track.landmarks import Landmarker, region_from_detection, region_from_landmarks
from engine.track.pose import fit
from engine.track.topology import CANONICAL, LEFT_EYE, LIPS_INNER, NOSE_TIP, RIGHT_EYE, RIGID, SURFACE
from engine.types import Detection, Image, Points

MIN_SCORE = 0.5
"""Below, the landmark network says "no face" (MediaPipe's default)."""
_LOOKS = 3
# The limits leave room round what was measured on the faces of photos and clips; see
# tests/unit/track/test_acquire.py for both sides.
_MAX_MOVE = 0.03
_MAX_KEYPOINT_ERROR = 0.22
_SIZES = (0.6, 1.4)
_MAX_SHAPE_ERROR = 0.055


def acquire(image: Image, detection: Detection, landmarker: Landmarker) -> tuple[Points, float] | None:
    """Measure a face that a detector found, or say that there is none.

    Args:
        image: uint8, H×W×3, BGR.
        detection: where to look.
        landmarker: measures; called up to three times.

    Returns:
        Landmarks, float32 (478, 3) in frame pixels, and the network's confidence; None when the
        looks disagree with each other, with the detector, or with the shape of a face.
    """
    region = region_from_detection(detection)
    before: Points | None = None
    for _ in range(_LOOKS):
        landmarks, score = landmarker.locate(image, region)
        if score < MIN_SCORE:
            return None
        before, last = landmarks, before
        region = region_from_landmarks(landmarks)
    assert last is not None
    if movement(last, landmarks) > _MAX_MOVE or not agrees(landmarks, detection):
        return None
    return (landmarks, score) if shape_error(landmarks) <= _MAX_SHAPE_ERROR else None


def movement(before: Points, after: Points) -> float:
    """Mean distance between two measurements over the later one's size."""
    step = after[:SURFACE, :2] - before[:SURFACE, :2]
    return float(np.hypot(step[:, 0], step[:, 1]).mean()) / size(after)


def size(landmarks: Points) -> float:
    """The longer side of the landmarks' box, pixels; the unit of the errors here."""
    return float(np.ptp(landmarks[:SURFACE, :2], axis=0).max()) + 1e-6


def agrees(landmarks: Points, detection: Detection) -> bool:
    """Whether the landmarks lie where the detector saw eyes, nose and mouth, and are as large."""
    unit = size(landmarks)
    box = detection.box
    ratio = float(max(box[2] - box[0], box[3] - box[1])) / unit
    return _SIZES[0] <= ratio <= _SIZES[1] and keypoint_error(landmarks, detection) <= _MAX_KEYPOINT_ERROR


def keypoint_error(landmarks: Points, detection: Detection) -> float:
    """Mean distance of eyes, nose tip and mouth from the detector's, over the face's size."""
    eyes = [landmarks[ring, :2].mean(0) for ring in (RIGHT_EYE, LEFT_EYE)]
    seen = np.stack([*eyes, landmarks[NOSE_TIP, :2], landmarks[LIPS_INNER, :2].mean(0)])
    error = seen - detection.keypoints[:4]
    return float(np.hypot(error[:, 0], error[:, 1]).mean()) / size(landmarks)


def shape_error(landmarks: Points) -> float:
    """Root mean square distance from the best-fitting canonical face, over the face's size.

    Only the landmarks that hardly move with the expression count.
    """
    scale, rotation, shift = fit(landmarks)
    error = landmarks[RIGID] - (scale * CANONICAL[RIGID] @ rotation.T + shift)
    return float(np.sqrt((error * error).sum(1).mean())) / size(landmarks)
