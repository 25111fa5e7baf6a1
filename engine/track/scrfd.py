"""Finds faces in a whole picture: SCRFD, a detector that the user adds.

Source: "Sample and Computation Redistribution for Efficient Face Detection", Guo et al. 2021
(arXiv:2105.04714). Anchors, threshold, letterbox and non-maximum suppression as in InsightFace (MIT).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.track.turns import boxes_back, points_back, turned
from engine.types import Detection, Image, Points

_STRIDES = (8, 16, 32)
_ANCHORS = 2
"""Anchors of one cell, both at its first pixel."""
_MEAN, _SCALE = 127.5, 128.0
_MIN_SCORE = 0.5
_SAME_FACE_IOU = 0.4
_EAR = 0.45
"""Distance of an ear from the eye beside it, in distances of the eyes; SCRFD does not tell."""


@dataclass(frozen=True, slots=True)
class Found:
    """Faces in one picture, the surest first, in its pixels.

    Attributes:
        boxes: float32 (n, 4): x0, y0, x1, y1.
        points: float32 (n, 5, 2): see `engine.align`.
        scores: float32 (n,): 0..1.
    """

    boxes: NDArray[np.float32]
    points: NDArray[np.float32]
    scores: NDArray[np.float32]


class Scrfd:
    """A face detector for pictures of any size; not thread-safe, since it reuses its buffers.

    Args:
        session: an `onnxruntime.InferenceSession` of an SCRFD with key points: nine outputs (scores,
            boxes, points for strides 8, 16, 32), each (n, k) or (1, n, k), scores after the sigmoid.
        side: of the square that the picture is brought into, a multiple of 32; what the network is
            made for, if that is fixed.
        min_score: 0..1, faces below are not reported.

    Raises:
        ModelError: the network is of another kind.
    """

    def __init__(self, session: Any, *, side: int = 640, min_score: float = _MIN_SCORE) -> None:
        self._session = session
        self._input = session.get_inputs()[0].name
        fixed = session.get_inputs()[0].shape[-1]
        self._side = fixed if isinstance(fixed, int) and fixed > 0 else side
        outputs = session.get_outputs()
        if len(outputs) != 3 * len(_STRIDES) or any(len(each.shape) > 3 for each in outputs):
            raise ModelError(
                "This detector is no SCRFD with key points as InsightFace exports it", "Use another file"
            )
        self._names = [each.name for each in outputs]
        self._min_score = min_score
        self._square = np.zeros((self._side, self._side, 3), np.uint8)
        self._anchors = [_anchors(self._side, stride) for stride in _STRIDES]

    def find(self, image: Image, min_score: float | None = None, turn: int = 0) -> Found:
        """Faces in a picture, uint8, H×W×3, BGR. Boxes may reach over its edge; for `turn` see `detect`."""
        height, width = image.shape[:2]
        zoom = self._side / max(height, width)
        w, h = max(int(width * zoom), 1), max(int(height * zoom), 1)
        self._square[h:] = 0
        self._square[:, w:] = 0
        cv2.resize(image, (w, h), self._square[:h, :w])
        square = turned(self._square, turn)
        blob = cv2.dnn.blobFromImage(square, 1 / _SCALE, mean=(_MEAN,) * 3, swapRB=True)
        outputs = self._session.run(self._names, {self._input: blob})
        levels = len(_STRIDES)
        flat = [np.asarray(output).reshape(-1, output.shape[-1]) for output in outputs]
        least = self._min_score if min_score is None else min_score
        scores, boxes, points = [], [], []
        for level, stride in enumerate(_STRIDES):
            score = flat[level][:, 0]
            keep = np.flatnonzero(score >= least)
            anchors = self._anchors[level][keep]
            sides = flat[level + levels][keep] * stride
            scores.append(score[keep])
            boxes.append(np.concatenate([anchors - sides[:, :2], anchors + sides[:, 2:]], 1))
            offsets = flat[level + 2 * levels][keep].reshape(-1, 5, 2) * stride
            points.append(anchors[:, None] + offsets)
        scale = np.array([width / w, height / h], np.float32)
        corners = boxes_back(np.concatenate(boxes), turn, self._side - 1).reshape(-1, 2, 2)
        return _suppressed(
            Found(
                (corners * scale).reshape(-1, 4).astype(np.float32),
                (points_back(np.concatenate(points), turn, self._side - 1) * scale).astype(np.float32),
                np.concatenate(scores).astype(np.float32),
            )
        )

    def detect(self, image: Image, *, min_score: float | None = None, turn: int = 0) -> list[Detection]:
        """The same in the form that the tracker takes; see `engine.track.detector.Detector.detect`."""
        found = self.find(image, min_score, turn)
        return [
            Detection(box, _six_points(points), float(score))
            for box, points, score in zip(found.boxes, found.points, found.scores, strict=True)
        ]


def _anchors(side: int, stride: int) -> NDArray[np.float32]:
    cells = side // stride
    y, x = np.divmod(np.arange(cells * cells), cells)
    return np.repeat(np.stack([x, y], 1) * stride, _ANCHORS, 0).astype(np.float32)


def _suppressed(found: Found) -> Found:
    """Without those that overlap a surer one."""
    order = np.argsort(-found.scores, kind="stable")
    boxes = found.boxes[order].astype(np.float64)
    x0, y0, x1, y1 = boxes.T
    # Corners are pixels that belong to the box, hence the one (InsightFace's rule).
    areas = (x1 - x0 + 1) * (y1 - y0 + 1)
    kept: list[int] = []
    left = np.arange(len(order))
    while len(left):
        first, rest = left[0], left[1:]
        kept.append(int(first))
        w = np.maximum(np.minimum(x1[first], x1[rest]) - np.maximum(x0[first], x0[rest]) + 1, 0)
        h = np.maximum(np.minimum(y1[first], y1[rest]) - np.maximum(y0[first], y0[rest]) + 1, 0)
        common = w * h
        left = rest[common / (areas[first] + areas[rest] - common) <= _SAME_FACE_IOU]
    chosen = order[kept]
    return Found(found.boxes[chosen], found.points[chosen], found.scores[chosen])


def _six_points(points: Points) -> Points:
    """SCRFD's five points as the detector's six: the mouth's centre, and ears guessed beside the eyes."""
    right, left, nose, mouth_right, mouth_left = points
    aside = (left - right) * np.float32(_EAR)
    mouth = (mouth_right + mouth_left) / 2
    return np.stack([right, left, nose, mouth, right - aside, left + aside]).astype(np.float32)
