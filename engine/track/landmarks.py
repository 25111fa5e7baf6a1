"""Landmarks of one face: MediaPipe's FaceMesh on a square cut out round it.

Source: "Real-time Facial Surface Geometry from Monocular Video on Mobile GPUs", Kartynnik et al.
2019 (arXiv:1907.06724); "Attention Mesh", Grishchenko et al. 2020 (arXiv:2006.10962), for the
478-point model with refined lips, eyes and irises.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

import models
from engine.runtime.session import open_session
from engine.track.shrink import halved
from engine.track.topology import LEFT_EYE, RIGHT_EYE, SURFACE
from engine.types import Detection, Image, Matrix, Points

_SIDE = 192
_MARGIN = 1.5
"""Side of the region over the longer side of the face's box, as MediaPipe's graph sets it."""


@dataclass(frozen=True, slots=True)
class Region:
    """A turned square in the picture, the landmark network's field of view.

    Attributes:
        cx, cy: centre, frame pixels.
        size: side, frame pixels.
        angle: radians, positive turns clockwise on the screen.
    """

    cx: float
    cy: float
    size: float
    angle: float

    def matrix(self, side: int) -> Matrix:
        """float64 (2, 3), from the pixels of a side×side crop to frame pixels (both: centres at integers)."""
        k = self.size / side
        c, s = math.cos(self.angle) * k, math.sin(self.angle) * k
        middle = (side - 1) / 2
        return np.array([[c, -s, self.cx - (c - s) * middle], [s, c, self.cy - (s + c) * middle]], np.float64)


def region_from_detection(detection: Detection) -> Region:
    """The region to look at first: the detector's box, upright by the eyes."""
    x0, y0, x1, y1 = (float(v) for v in detection.box)
    eyes = detection.keypoints[1] - detection.keypoints[0]
    angle = math.atan2(float(eyes[1]), float(eyes[0]))
    return Region((x0 + x1) / 2, (y0 + y1) / 2, _MARGIN * max(x1 - x0, y1 - y0), angle)


def region_from_landmarks(landmarks: Points) -> Region:
    """The region for the next look: the landmarks' box, upright by the outer eye corners."""
    eyes = landmarks[LEFT_EYE[0], :2] - landmarks[RIGHT_EYE[0], :2]
    angle = math.atan2(float(eyes[1]), float(eyes[0]))
    c, s = math.cos(angle), math.sin(angle)
    upright = landmarks[:SURFACE, :2] @ np.array([[c, -s], [s, c]], np.float32)
    low, high = upright.min(0), upright.max(0)
    x, y = ((low + high) / 2).tolist()
    return Region(c * x - s * y, s * x + c * y, _MARGIN * float((high - low).max()), angle)


def cut(image: Image, region: Region, side: int) -> Image:
    """The region as a side×side picture, uint8 BGR.

    A region more than twice as large is first halved, again and again, which costs little and keeps
    it from aliasing. Outside the picture its edge is repeated.
    """
    matrix = region.matrix(side)
    ratio = min(region.size / side, *image.shape[:2])
    times = int(math.log2(ratio)) if ratio >= 2 else 0
    if times:
        factor = 2**times
        corners = np.array([[0, 0], [side, 0], [0, side], [side, side]]) @ matrix[:, :2].T + matrix[:, 2]
        height, width = image.shape[:2]
        x0, w = _span(corners[:, 0].min(), corners[:, 0].max(), width, factor)
        y0, h = _span(corners[:, 1].min(), corners[:, 1].max(), height, factor)
        image = halved(image[y0 : y0 + h, x0 : x0 + w], times)
        matrix[:, 2] -= (x0 + (factor - 1) / 2, y0 + (factor - 1) / 2)
        matrix /= factor
    return cv2.warpAffine(
        image,
        matrix,
        (side, side),
        flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REPLICATE,
    )  # type: ignore[return-value]


def _span(low: float, high: float, limit: int, factor: int) -> tuple[int, int]:
    """Start and length of the part of one axis to shrink: inside the picture, a multiple of `factor`."""
    start = min(max(math.floor(low) - factor, 0), limit - factor)
    stop = min(max(math.ceil(high) + factor + 1, start + factor), limit)
    return start, (stop - start) // factor * factor


class Landmarker:
    """Measures the landmarks of a face in a region; not thread-safe, since it reuses its buffers.

    Args:
        fast: the 468-point model, half the cost: no refined lips and eyes, and the irises are put
            where the eyes are darkest. May be changed at any time.
        threads: of ONNX Runtime; one is the fastest for this network.

    Raises:
        ModelError: the embedded model is missing or damaged.
    """

    def __init__(self, *, fast: bool = False, threads: int = 1) -> None:
        self._threads = threads
        self._sessions: dict[bool, Any] = {}
        self.fast = fast
        self._session()

    def _session(self) -> Any:
        """The session of the present model, opened when it is first used."""
        if self.fast not in self._sessions:
            name = "face_landmark_468.onnx" if self.fast else "face_landmark_478.onnx"
            self._sessions[self.fast] = open_session(models.embedded(name), threads=self._threads)
        return self._sessions[self.fast]

    def locate(self, image: Image, region: Region) -> tuple[Points, float]:
        """The landmarks of the face in the region, and the network's confidence.

        The confidence tells "no face" from "face", but is high for many wrong regions: see
        `engine.track.acquire`.

        Args:
            image: uint8, H×W×3, BGR.
            region: where to look.

        Returns:
            float32 (478, 3) in frame pixels, and 0..1.
        """
        crop = cut(image, region, _SIDE)
        tensor = cv2.dnn.blobFromImage(crop, 1 / 255, swapRB=True)
        raw, logit = self._session().run(None, {"input_1": tensor})
        points = raw.reshape(-1, 3)
        if self.fast:
            points = np.concatenate([points, _irises(points, crop)])
        # The network counts from the crop's edge, frames from pixel centres.
        matrix = region.matrix(_SIDE).astype(np.float32)
        landmarks = np.empty((len(points), 3), np.float32)
        landmarks[:, :2] = (points[:, :2] - np.float32(0.5)) @ matrix[:, :2].T + matrix[:, 2]
        landmarks[:, 2] = points[:, 2] * np.float32(region.size / _SIDE)
        return landmarks, 1 / (1 + math.exp(-min(max(float(logit.flat[0]), -80), 80)))


_IRIS_RADIUS = 0.21
"""Radius of the iris over the width of the eye, measured on the 478-point model."""
_WITHIN = 0.8
"""Part of the eye, from its middle, in which the iris is looked for: lashes and corners are dark, too."""
_DARK = 6
"""Power of the darkness: with it the pupil outweighs the rest. Mean error against the 478-point model on
nine clips .04 of the eye's width, .08 for the middle of the eye; where the eyes look aside .02 and .19."""


def _irises(points: Points, crop: Image) -> Points:
    """(10, 3): irises where the eyes are darkest, in the order of the 478-point model.

    Args:
        points: (468, 3), pixels of `crop` counted from its edge.
        crop: uint8, BGR.
    """
    grey = np.asarray(cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY), np.uint8)
    found = []
    for ring in (RIGHT_EYE, LEFT_EYE):
        eye = points[ring]
        centre = eye.mean(0)
        inner = centre[:2] + np.float32(_WITHIN) * (eye[:, :2] - centre[:2])
        centre[:2] = _darkest(grey, inner - np.float32(0.5), centre[:2] - np.float32(0.5)) + np.float32(0.5)
        # towards the picture's right
        along = (eye[8] - eye[0]) * np.float32(_IRIS_RADIUS * (1 if ring is RIGHT_EYE else -1))
        along[2] = 0
        up = np.array([along[1], -along[0], 0], np.float32)
        found += [centre, centre + along, centre + up, centre - along, centre - up]
    return np.array(found, np.float32)


def _darkest(grey: NDArray[np.uint8], outline: Points, otherwise: Points) -> Points:
    """Where the darkness within an outline (n, 2) has its middle; pixels, centres at integers."""
    hole = np.zeros_like(grey)
    cv2.fillPoly(hole, [np.rint(outline * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
    x, y, width, height = cv2.boundingRect(hole)
    part = slice(y, y + height), slice(x, x + width)
    if not width or not height:
        return otherwise
    low, high = cv2.minMaxLoc(grey[part], hole[part])[:2]
    darkness = np.clip((high - grey[part].astype(np.float32)) / (high - low + 1), 0, 1) ** _DARK
    moments = cv2.moments(darkness * hole[part])
    if not moments["m00"]:
        return otherwise
    middle = (moments["m10"] / moments["m00"] + x, moments["m01"] / moments["m00"] + y)
    return np.array(middle, np.float32)
