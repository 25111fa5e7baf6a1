"""Finds faces in a whole picture: BlazeFace, the full-range sparse model.

Source: "BlazeFace: Sub-millisecond Neural Face Detection on Mobile GPUs", Bazarevsky et al. 2019
(arXiv:1907.05047); weights, anchors (one per cell, stride 4) and non-maximum suppression as in
MediaPipe's `face_detection_full_range_sparse` (Apache-2.0).
"""

from __future__ import annotations

import math
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

import models
from engine.errors import ModelError
from engine.runtime.session import open_session
from engine.track.shrink import halved
from engine.track.turns import boxes_back, points_back, turned
from engine.types import Detection, Image, Points

_SIDE = 192
_STRIDE = 4
_SAME_FACE_IOU = 0.3
"""MediaPipe's `min_suppression_threshold`."""


class Detector:
    """A face detector for pictures of any size; not thread-safe, since it reuses its buffers.

    It finds faces from about 6 % of the picture's longer side upwards, with a roll of up to 60°,
    or up to 60° from the turn in which it is asked to look.

    Args:
        path: an ONNX file with the same contract; the embedded one by default.
        min_score: 0..1, faces below are not reported.
        threads: of ONNX Runtime; one is the fastest for this network.

    Raises:
        ModelError: the model is missing, damaged or of another kind.
    """

    def __init__(self, path: Path | None = None, *, min_score: float = 0.6, threads: int = 1) -> None:
        path = path or models.embedded("face_detector_full_range.onnx")
        self._session = open_session(path, threads=threads)
        cells = _SIDE // _STRIDE
        y, x = np.divmod(np.arange(cells * cells), cells)
        self._anchors = ((np.stack([x, y], 1) + 0.5) * _STRIDE).astype(np.float32)
        shapes = [tuple(each.shape) for each in self._session.get_outputs()]
        if shapes != [(1, len(self._anchors), 16), (1, len(self._anchors), 1)]:
            raise ModelError(f"{path.name} is no full-range face detector")
        self._input = self._session.get_inputs()[0].name
        self._min_score = min_score
        self._square = np.zeros((_SIDE, _SIDE, 3), np.uint8)

    def detect(self, image: Image, *, min_score: float | None = None, turn: int = 0) -> list[Detection]:
        """Faces in the picture, the surest first.

        Args:
            image: uint8, H×W×3, BGR.
            min_score: overrides the detector's own threshold for this picture.
            turn: see `engine.track.base.FaceDetector`; only the reduced picture is turned.

        Returns:
            Detections in picture pixels; the boxes may reach over the picture's edge.
        """
        height, width = image.shape[:2]
        zoom = _SIDE / max(height, width)
        w, h = max(round(width * zoom), 1), max(round(height * zoom), 1)
        left, top = (_SIDE - w) // 2, (_SIDE - h) // 2
        self._square[:] = 0
        ratio = min(image.shape[:2]) / max(min(w, h), 1)
        small = halved(image, int(math.log2(ratio)) - 1) if ratio >= 4 else image
        cv2.resize(small, (w, h), self._square[top : top + h, left : left + w], interpolation=cv2.INTER_AREA)
        # −1..1, RGB, NCHW
        square = turned(self._square, turn)
        tensor = cv2.dnn.blobFromImage(square, 1 / 127.5, mean=(127.5, 127.5, 127.5), swapRB=True)
        values, logits = self._session.run(None, {self._input: tensor})
        logits = logits[0, :, 0]
        threshold = self._min_score if min_score is None else min_score
        keep = np.flatnonzero(logits >= np.log(threshold / (1 - threshold)))
        if not len(keep):
            return []
        scores = 1 / (1 + np.exp(-logits[keep]))
        boxes, points = self._decode(values[0, keep], keep)
        boxes, points = boxes_back(boxes, turn, _SIDE), points_back(points, turn, _SIDE)
        # The square's pixel edges to the picture's pixel centres.
        scale = np.array([width / w, height / h], np.float32)
        shift = np.array([left, top], np.float32)
        boxes = ((boxes.reshape(-1, 2, 2) - shift) * scale - 0.5).reshape(-1, 4)
        points = (points - shift) * scale - 0.5
        return _merge(boxes, points, scores)

    def _decode(
        self, values: NDArray[np.float32], cells: NDArray[np.intp]
    ) -> tuple[NDArray[np.float32], Points]:
        """Boxes (n, 4) and key points (n, 6, 2) in pixels of the square, 0 = its edge."""
        anchors = self._anchors[cells]
        centre, half = values[:, :2] + anchors, values[:, 2:4] / 2
        boxes = np.concatenate([centre - half, centre + half], 1)
        return boxes, values[:, 4:].reshape(-1, 6, 2) + anchors[:, None]


def iou(box: NDArray[np.float32], boxes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Intersection over union of one box (4,) with many (n, 4); all are x0, y0, x1, y1."""
    low, high = np.maximum(box[:2], boxes[:, :2]), np.minimum(box[2:], boxes[:, 2:])
    common = np.prod(np.clip(high - low, 0, None), 1)
    union = np.prod(box[2:] - box[:2]) + np.prod(boxes[:, 2:] - boxes[:, :2], 1) - common
    ratio: NDArray[np.float32] = common / np.maximum(union, 1e-9)
    return ratio


def _merge(
    boxes: NDArray[np.float32], points: NDArray[np.float32], scores: NDArray[np.float32]
) -> list[Detection]:
    """Weighted non-maximum suppression (BlazeFace, section 3.4): overlapping answers are averaged."""
    order = np.argsort(-scores, kind="stable")
    found = []
    while len(order):
        same = iou(boxes[order[0]], boxes[order]) > _SAME_FACE_IOU
        same[0] = True
        group, order = order[same], order[~same]
        weights = scores[group] / scores[group].sum()
        box = np.tensordot(weights, boxes[group], 1).astype(np.float32)
        keypoints = np.tensordot(weights, points[group], 1).astype(np.float32)
        found.append(Detection(box, keypoints, float(scores[group[0]])))
    return found
