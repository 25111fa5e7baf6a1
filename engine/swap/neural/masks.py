"""The parts of a neural patch's mask that depend on the picture; the mask is their product.

Each part is uint8 in crop pixels, 255 where the swap shows.
"""

from __future__ import annotations

from typing import Any, Protocol

import cv2
import numpy as np

from engine.catalog.entry import Contract
from engine.swap.neural.tensors import PictureInput
from engine.track.topology import LEFT_EYE, LIPS_INNER, OVAL, RIGHT_EYE
from engine.types import Face, Image, Mask, Matrix

REGIONS = (1, 2, 3, 4, 5, 6, 10, 11, 12, 13)
"""Classes of CelebAMask-HQ that a face swap replaces: skin, brows, eyes, glasses, nose, mouth, lips."""
_SOFT = 0.015
"""Standard deviation of the edge, part of the crop's side."""


class MaskPart(Protocol):
    """Makes one part of a mask."""

    def __call__(self, crop: Image, face: Face, matrix: Matrix) -> Mask:
        """The part for one face.

        Args:
            crop: the target's aligned crop, uint8, s×s×3, BGR.
            face: in frame pixels.
            matrix: from frame to crop pixels.
        """
        ...


class Occluder:
    """XSeg: what hides the face (hands, hair, a microphone) stays in front.

    Args:
        session: network, NHWC, gives 1 where the face shows.
        contract: its contract.
    """

    def __init__(self, session: Any, contract: Contract) -> None:
        self._session = session
        self._name = session.get_inputs()[0].name
        self._blob = PictureInput(contract, contract.size)
        self._size = contract.size

    def __call__(self, crop: Image, face: Face, matrix: Matrix) -> Mask:
        """See `MaskPart`."""
        seen = _resized(crop, self._size)
        output = np.asarray(self._session.run(None, {self._name: self._blob(seen)})[0], np.float32)
        mask = np.clip(output.reshape(self._size, self._size), 0, 1)
        return _softened(np.asarray(np.rint(mask * 255), np.uint8), crop.shape[0])


class Parser:
    """BiSeNet: only the regions that belong to a face are swapped, not hair, ears, hats or neck.

    Args:
        session: network with 19 classes.
        contract: its contract.
        regions: the classes that are swapped.
    """

    def __init__(self, session: Any, contract: Contract, regions: tuple[int, ...] = REGIONS) -> None:
        self._session = session
        self._name = session.get_inputs()[0].name
        self._blob = PictureInput(contract, contract.size)
        self._size = contract.size
        self._table = np.zeros(256, np.uint8)
        self._table[list(regions)] = 255

    def __call__(self, crop: Image, face: Face, matrix: Matrix) -> Mask:
        """See `MaskPart`."""
        seen = _resized(crop, self._size)
        logits = np.asarray(self._session.run(None, {self._name: self._blob(seen)})[0])[0]
        mask = self._table[logits.argmax(0).astype(np.uint8)]
        return _softened(mask, crop.shape[0])


class Kept:
    """The target's own mouth or eyes, from the landmarks: teeth, tongue and gaze stay true.

    Args:
        mouth, eyes: which.
    """

    def __init__(self, *, mouth: bool, eyes: bool) -> None:
        rings = [LIPS_INNER] if mouth else []
        self._rings = rings + ([RIGHT_EYE, LEFT_EYE] if eyes else [])

    def __call__(self, crop: Image, face: Face, matrix: Matrix) -> Mask:
        """See `MaskPart`."""
        size = crop.shape[0]
        mask = np.full((size, size), 255, np.uint8)
        for ring in self._rings:
            points = face.landmarks[ring, :2].astype(np.float64) @ matrix[:, :2].T + matrix[:, 2]
            cv2.fillPoly(mask, [np.rint(points * 16).astype(np.int32)], (0,), cv2.LINE_AA, 4)
        return np.asarray(cv2.GaussianBlur(mask, (0, 0), size * _SOFT), np.uint8)


class Outline:
    """The face's outline from the landmarks: background and most hair stay, without another network."""

    def __call__(self, crop: Image, face: Face, matrix: Matrix) -> Mask:
        """See `MaskPart`."""
        size = crop.shape[0]
        points = face.landmarks[OVAL, :2].astype(np.float64) @ matrix[:, :2].T + matrix[:, 2]
        mask = np.zeros((size, size), np.uint8)
        hull = cv2.convexHull(np.rint(points * 16).astype(np.int32))
        cv2.fillConvexPoly(mask, hull, (255,), cv2.LINE_AA, 4)
        return np.asarray(cv2.GaussianBlur(mask, (0, 0), size * 2 * _SOFT), np.uint8)


def combined(masks: list[Mask]) -> Mask:
    """The product of masks of the same size."""
    whole = masks[0]
    for mask in masks[1:]:
        whole = np.asarray(cv2.multiply(whole, mask, scale=1 / 255), np.uint8)
    return whole


def _resized(crop: Image, size: int) -> Image:
    if crop.shape[0] == size:
        return crop
    way = cv2.INTER_AREA if crop.shape[0] > size else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(crop, (size, size), interpolation=way), np.uint8)


def _softened(mask: Mask, size: int) -> Mask:
    if mask.shape[0] != size:
        mask = np.asarray(cv2.resize(mask, (size, size), interpolation=cv2.INTER_LINEAR), np.uint8)
    return np.asarray(cv2.GaussianBlur(mask, (0, 0), size * _SOFT), np.uint8)
