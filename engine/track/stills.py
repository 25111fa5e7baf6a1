"""Finds every face in a single picture, however it lies in it.

A picture gives one chance and no hurry, so the detector looks at it in several ways: as it is,
with a border (faces that fill it), in tiles (small faces in large pictures), at a lower threshold
and turned (sideways and upside-down ones).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import cv2
import numpy as np

from engine.track.acquire import acquire
from engine.track.detector import Detector, iou
from engine.track.landmarks import Landmarker
from engine.types import Detection, Face, Image, Points

_LOW_SCORE = 0.3
_TILE_SCORE = 0.7
"""Many tiles see many things: they must be surer than the look at the whole."""
_BORDER = 0.5
_TILED = (640, 1280)
"""Longer sides, pixels, from which the picture is also searched in tiles of 1/2 and 1/4."""
_SAME_FACE_IOU = 0.3
_FAR_BELOW = 0.8


def find_faces(
    image: Image, detector: Detector | None = None, landmarker: Landmarker | None = None
) -> tuple[Face, ...]:
    """All faces of a still picture.

    Args:
        image: uint8, H×W×3, BGR.
        detector, landmarker: to be reused over many pictures; made when not given (0.1 s).

    Returns:
        Faces in pixels of the picture, the largest first; `id` counts from 0 in that order.

    Raises:
        ModelError: an embedded model is missing or damaged.
    """
    detector = detector or Detector()
    landmarker = landmarker or Landmarker()
    found = _measured(image, _upright(image, detector), landmarker)
    if not found:
        found = _measured(image, _any_way(image, detector), landmarker, least=_FAR_BELOW)
    found.sort(key=lambda each: -float(np.prod(np.ptp(each[0][:, :2], axis=0))))
    return tuple(Face(i, landmarks, score) for i, (landmarks, score) in enumerate(found))


def _measured(
    image: Image, detections: list[Detection], landmarker: Landmarker, least: float = 0.0
) -> list[tuple[Points, float]]:
    """Landmarks and score of each detection that is a face and no duplicate.

    Args:
        least: detections whose score is below this share of the first face's are left out.
    """
    found: list[tuple[Points, float]] = []
    best = 0.0
    for detection in detections:
        if detection.score < least * best or _known(detection, found):
            continue
        measured = acquire(image, detection, landmarker)
        if measured is not None and not _duplicate(measured[0], found):
            found.append(measured)
            best = best or detection.score
    return found


def _upright(image: Image, detector: Detector) -> list[Detection]:
    return [*detector.detect(image), *_bordered(image, detector), *_tiles(image, detector)]


def _any_way(image: Image, detector: Detector) -> list[Detection]:
    """Doubtful detections in the picture as it is and turned, the surest first.

    The order matters: an upside-down face can also be taken for an upright one, with a score of
    0.3–0.6, where the right way up gives 0.8–0.95.
    """
    found: list[Detection] = []
    for turn in range(4):
        found += detector.detect(image, min_score=_LOW_SCORE, turn=turn)
        found += _bordered(image, detector, _LOW_SCORE, turn)
        found += _tiles(image, detector, turn)
    return sorted(found, key=lambda each: -each.score)


def _bordered(
    image: Image, detector: Detector, min_score: float | None = None, turn: int = 0
) -> list[Detection]:
    """Detections with a border round the picture, for faces that fill it."""
    height, width = image.shape[:2]
    zoom = min(1.0, 400 / max(height, width))  # the detector sees 192 pixels: no need to pad more
    small = cv2.resize(image, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_AREA) if zoom < 1 else image
    scale = np.array([width / small.shape[1], height / small.shape[0]], np.float32)
    border = round(_BORDER * max(small.shape[:2]))
    padded: Image = cv2.copyMakeBorder(small, border, border, border, border, cv2.BORDER_CONSTANT)  # type: ignore[assignment]
    # pixel centres: first to pixel edges, then scale, then back
    return [
        _moved(each, scale, (0.5 - border) * scale - 0.5)
        for each in detector.detect(padded, min_score=min_score, turn=turn)
    ]


def _tiles(image: Image, detector: Detector, turn: int = 0) -> Iterator[Detection]:
    """Detections in overlapping tiles, for small faces in large pictures."""
    height, width = image.shape[:2]
    for level, least in enumerate(_TILED, 1):
        if max(height, width) < least:
            return
        side = max(height, width) // 2**level
        for y in _starts(height, side):
            for x in _starts(width, side):
                tile = image[y : y + side, x : x + side]
                shift = np.array([x, y], np.float32)
                for each in detector.detect(tile, min_score=_TILE_SCORE, turn=turn):
                    yield _moved(each, np.ones(2, np.float32), shift)


def _starts(length: int, side: int) -> list[int]:
    """Starts of tiles that cover `length` and overlap by a third or more."""
    if length <= side:
        return [0]
    count = int(np.ceil((length - side) / (side * 2 / 3))) + 1
    return [int(v) for v in np.linspace(0, length - side, count).round()]


def _moved(detection: Detection, scale: Points, shift: Points) -> Detection:
    box = (detection.box.reshape(2, 2) * scale + shift).reshape(4)
    return replace(detection, box=box, keypoints=detection.keypoints * scale + shift)


def _box(landmarks: Points) -> Points:
    return np.concatenate([landmarks[:, :2].min(0), landmarks[:, :2].max(0)])


def _known(detection: Detection, found: list[tuple[Points, float]]) -> bool:
    """Whether the middle of the detection's eyes lies in a face that was measured already."""
    x, y = detection.keypoints[:2].mean(0)
    boxes = [_box(landmarks) for landmarks, _ in found]
    return any(b[0] < x < b[2] and b[1] < y < b[3] for b in boxes)


def _duplicate(landmarks: Points, found: list[tuple[Points, float]]) -> bool:
    if not found:
        return False
    boxes = np.stack([_box(each) for each, _ in found])
    return bool((iou(_box(landmarks), boxes) > _SAME_FACE_IOU).any())
