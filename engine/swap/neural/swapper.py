"""A neural swapper: one class for all families, told apart by their contracts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.align import alignment, five_points
from engine.catalog.entry import Contract, SourceInput
from engine.errors import InputError, ModelError
from engine.identity.embedding import Embedder, EmbeddingCache, average
from engine.identity.photo import SourcePhoto
from engine.quality import LADDER, Quality
from engine.runtime.climb import UnsoundError
from engine.swap.neural.latent import Emap, latent
from engine.swap.neural.mask import box_mask
from engine.swap.neural.tensors import PictureInput, PictureOutput, is_sound
from engine.types import Face, Image, Patch


@dataclass(frozen=True, slots=True)
class NeuralIdentity:
    """A source person as the network takes it.

    Attributes:
        source: float32, (1, 512), or (1, 3, size, size) for networks that take a picture.
        left_out: indices of the photos that seem to show somebody else.
    """

    source: NDArray[np.float32]
    left_out: tuple[int, ...] = ()


class NeuralSwapper:
    """Swaps with a network of the catalogue.

    Args:
        name: the catalogue's name.
        contract: the network's contract.
        session: its `onnxruntime.InferenceSession`.
        embedder, cache: for networks that take an embedding.
        emap: inswapper's matrix.
        converter: session of the embedding converter.
    """

    def __init__(
        self,
        name: str,
        contract: Contract,
        session: Any,
        *,
        embedder: Embedder | None = None,
        cache: EmbeddingCache | None = None,
        emap: Emap | None = None,
        converter: Any = None,
    ) -> None:
        self.name = name
        self.contract = contract
        self.session = session
        self.target_name, self.source_name = (tensor.name for tensor in contract.inputs)
        self._embedder = embedder
        self._cache = cache
        self._emap = emap
        self._converter = converter

    def prepare(self, photos: Sequence[SourcePhoto]) -> NeuralIdentity:
        """See `engine.swap.base.Swapper`.

        Raises:
            ModelError: a model that the contract needs is missing.
        """
        if not photos:
            raise InputError("No source photo was given", "Give at least one")
        if self.contract.source is SourceInput.PICTURE:
            return NeuralIdentity(self._picture(photos[0]))
        if self._embedder is None or self._cache is None:
            raise ModelError(f"{self.name} needs an embedder", "Get it: kawari models get arcface_w600k_r50")
        embedder, cache = self._embedder, self._cache
        embedding, left_out = average([cache.get(photo, embedder) for photo in photos])
        source = latent(embedding, self.contract.source, emap=self._emap, converter=self._converter)
        return NeuralIdentity(source, left_out)

    def follow(self, identity: NeuralIdentity) -> NeuralFaceSwap:
        """See `engine.swap.base.Swapper`."""
        return NeuralFaceSwap(self, identity)

    def _picture(self, photo: SourcePhoto) -> NDArray[np.float32]:
        contract = self.contract
        size = contract.source_size
        matrix = alignment(five_points(photo.face.landmarks), contract.source_template, size)
        crop = cv2.warpAffine(photo.image, matrix, (size, size), borderMode=cv2.BORDER_REPLICATE)
        return PictureInput(contract, size)(np.asarray(crop, np.uint8)).copy()


class NeuralFaceSwap:
    """Swaps one face with a network; nothing is remembered from frame to frame."""

    def __init__(self, swapper: NeuralSwapper, identity: NeuralIdentity) -> None:
        self.quality: Quality = LADDER[0]
        self._swapper = swapper
        self._source = identity.source
        self._size = swapper.contract.size
        self._blob = PictureInput(swapper.contract, self._size)
        self._picture = PictureOutput(swapper.contract)
        self._mask = box_mask(self._size)

    def patch(self, image: Image, face: Face, strength: float) -> Patch | None:
        """See `engine.swap.base.FaceSwap`. The network decides the shape; `strength` has no effect.

        Raises:
            UnsoundError: the network gave no picture (not a number, or one flat colour).
        """
        del strength
        swapper, size = self._swapper, self._size
        matrix = alignment(five_points(face.landmarks), swapper.contract.template, size)
        crop = cv2.warpAffine(image, matrix, (size, size), flags=cv2.INTER_LINEAR)
        feed = {
            swapper.target_name: self._blob(np.asarray(crop, np.uint8)),
            swapper.source_name: self._source,
        }
        output = swapper.session.run(None, feed)[0]
        if not is_sound(output):
            raise UnsoundError(
                f"{swapper.name} gave no picture", "Use its full-precision version, or the mesh swapper"
            )
        return Patch(self._picture(output), self._mask, cv2.invertAffineTransform(matrix).astype(np.float64))
