"""Enhancers: networks that redraw a swapped face sharply, run on every n-th frame only.

In between, what the network had added to its frame (its detail) is carried to the present one: the
crop follows the face's affine, and within the crop optical flow moves the detail along. It fades
where the flow does not explain the picture, so nothing old is shown in a new place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.align import alignment, five_points
from engine.catalog.entry import Contract
from engine.runtime.climb import UnsoundError
from engine.swap.neural.tensors import PictureInput, PictureOutput, is_sound
from engine.types import Face, Image, Patch

_FLOW_SIDE = 128
_TRUST = 12.0
"""Levels by which a moved picture may differ from the present one before its detail is halved."""


class Enhancer:
    """A restoration network on one aligned picture.

    Args:
        name: the catalogue's name.
        session: the network.
        contract: its contract.
        fidelity: 0..1, for CodeFormer's second input: 1 stays closest to what is given.
    """

    def __init__(self, name: str, session: Any, contract: Contract, fidelity: float = 0.7) -> None:
        self.name = name
        self.contract = contract
        self._session = session
        inputs = session.get_inputs()
        self._picture = inputs[0].name
        self._blob = PictureInput(contract, contract.size)
        self._output = PictureOutput(contract)
        self._more: dict[str, NDArray[Any]] = {}
        if len(inputs) > 1:  # CodeFormer's weight
            kind = np.float32 if inputs[1].type == "tensor(float)" else np.float64
            self._more[inputs[1].name] = np.array([fidelity], kind)

    def __call__(self, crop: Image) -> Image:
        """The crop redrawn, uint8, size×size×3, BGR.

        Raises:
            UnsoundError: the network gave no picture.
        """
        output = self._session.run(None, {self._picture: self._blob(crop), **self._more})[0]
        if not is_sound(output):
            raise UnsoundError(f"{self.name} gave no picture")
        return self._output(output)


@dataclass(slots=True)
class _Key:
    """The last frame that the network has seen."""

    grey: NDArray[np.uint8]
    detail: NDArray[np.int16]
    age: int = 0


class Cadence:
    """Enhances one face in one stream; not thread-safe.

    Args:
        enhancer: the network.
        share: 0..1, how much of what it adds is taken.
    """

    def __init__(self, enhancer: Enhancer, share: float = 0.8) -> None:
        self._enhancer = enhancer
        self._share = share
        self._key: _Key | None = None
        self._flow = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)

    def __call__(self, image: Image, face: Face, patch: Patch, every: int) -> Patch:
        """The patch, enhanced, in the enhancer's own crop.

        Args:
            image: the frame, uint8, H×W×3, BGR.
            face: the face.
            patch: the swap.
            every: the network runs on each n-th call.

        Raises:
            Exception: whatever the network raises.
        """
        contract = self._enhancer.contract
        size = contract.size
        matrix = alignment(five_points(face.landmarks), contract.template, size)
        crop, mask = _swapped_crop(image, patch, matrix, size)
        key = self._key
        if key is None or key.age + 1 >= every:
            detail = cv2.subtract(self._enhancer(crop), crop, dtype=cv2.CV_16S)
            self._key = _Key(_grey(crop), np.asarray(detail, np.int16))
        else:
            key.age += 1
            detail = self._moved(key, crop)
        made = cv2.scaleAdd(detail, self._share, crop.astype(np.int16))
        return Patch(
            np.clip(made, 0, 255).astype(np.uint8), mask, cv2.invertAffineTransform(matrix).astype(np.float64)
        )

    def _moved(self, key: _Key, crop: Image) -> NDArray[np.int16]:
        """The key frame's detail where it belongs in this crop."""
        grey, side = _grey(crop), crop.shape[0]
        flow = self._flow.calc(grey, key.grey, np.zeros((*grey.shape, 2), np.float32))  # from here to there
        grid = np.mgrid[:_FLOW_SIDE, :_FLOW_SIDE].astype(np.float32)
        at = np.stack([grid[1], grid[0]], -1) + flow
        was = cv2.remap(key.grey, at[..., 0], at[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        error = cv2.GaussianBlur(cv2.absdiff(was, grey).astype(np.float32), (0, 0), 2)
        trust = 1 / (1 + (error / np.float32(_TRUST)) ** 2)
        scale = side / _FLOW_SIDE
        large = cv2.resize((at + 0.5) * scale - 0.5, (side, side), interpolation=cv2.INTER_LINEAR)
        detail = cv2.remap(
            key.detail, large[..., 0], large[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
        )
        weight = cv2.resize(trust, (side, side), interpolation=cv2.INTER_LINEAR)
        return np.asarray(np.rint(detail * weight[..., None]), np.int16)


def _grey(crop: Image) -> NDArray[np.uint8]:
    small = cv2.resize(crop, (_FLOW_SIDE, _FLOW_SIDE), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2GRAY), np.uint8)


def _swapped_crop(
    image: Image, patch: Patch, matrix: NDArray[np.float64], size: int
) -> tuple[Image, NDArray[np.uint8]]:
    """The frame with the patch on it as the enhancer's crop, and the patch's mask there."""
    crop = cv2.warpAffine(image, matrix, (size, size), borderMode=cv2.BORDER_REPLICATE)
    linear = matrix[:, :2] @ patch.matrix[:, :2]
    move = np.column_stack([linear, matrix[:, :2] @ patch.matrix[:, 2] + matrix[:, 2]])
    made = cv2.warpAffine(patch.image, move, (size, size), borderMode=cv2.BORDER_REPLICATE)
    mask = cv2.warpAffine(patch.mask, move, (size, size))
    weight = mask.astype(np.float32) * np.float32(1 / 255)
    both = cv2.blendLinear(crop, made, 1 - weight, weight)
    return np.asarray(both, np.uint8), np.asarray(mask, np.uint8)
