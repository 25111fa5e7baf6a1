"""A neural swapper: one class for all families, told apart by their contracts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.align import alignment, five_points
from engine.catalog.entry import Contract, SourceInput
from engine.errors import InputError, ModelError
from engine.events import Report, silent
from engine.identity.embedding import Embedder, EmbeddingCache, average
from engine.identity.photo import SourcePhoto
from engine.quality import LADDER, Quality
from engine.runtime.climb import UnsoundError, reason
from engine.swap.base import Job, Made
from engine.swap.neural.boost import interleave, tiles
from engine.swap.neural.colour import match_colour
from engine.swap.neural.enhance import Cadence, Enhancer
from engine.swap.neural.latent import Emap, latent
from engine.swap.neural.mask import box_mask
from engine.swap.neural.masks import MaskPart, combined
from engine.swap.neural.tensors import PictureInput, PictureOutput, is_sound
from engine.types import Face, Image, Matrix, Patch

FLAT = 4
"""Levels; a crop with less between its darkest and brightest pixel shows no face."""


@dataclass(frozen=True, slots=True)
class NeuralIdentity:
    """A source person as the network takes it.

    Attributes:
        source: float32, (1, 512), or (1, 3, size, size) for networks that take a picture.
        left_out: indices of the photos that seem to show somebody else.
    """

    source: NDArray[np.float32]
    left_out: tuple[int, ...] = ()


@dataclass(slots=True)
class Extras:
    """What is done around a swapper network; what fails is taken out.

    Attributes:
        boost: see `engine.swap.neural.boost`.
        masks: parts of the mask, by name.
        enhancer: redraws the result.
        every: the enhancer sees each n-th frame.
        match_colour: see `engine.swap.neural.colour`.
    """

    boost: int = 1
    masks: dict[str, MaskPart] = field(default_factory=dict)
    enhancer: Enhancer | None = None
    every: int = 1
    match_colour: bool = False


class NeuralSwapper:
    """Swaps with a network of the catalogue.

    Args:
        name: the catalogue's name.
        contract: the network's contract.
        session: its `onnxruntime.InferenceSession`.
        embedder, cache: for networks that take an embedding.
        emap: inswapper's matrix.
        converter: session of the embedding converter.
        extras: what is done around the network.

    Attributes:
        report: takes "extra-failed" when one of the extras fails and is left out from then on.
        together: how many pictures the session takes in one run.
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
        extras: Extras | None = None,
    ) -> None:
        self.name = name
        self.extras = extras or Extras()
        self.report: Report = silent
        self.contract = contract
        self.session = session
        self.together = 1
        self.blob = PictureInput(contract, contract.size)
        self.picture = PictureOutput(contract)
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

    def patches(self, image: Image, jobs: Sequence[Job]) -> list[Made]:
        """What `NeuralFaceSwap.patch` gives for each job, with as few runs as the network allows.

        Raises:
            Exception: whatever the provider raises; a face without a picture is an `UnsoundError` in
                the list.
        """
        aimed = [job.swap.aim(image, job.face) for job in jobs]
        answers = iter(self._answers([one for one in aimed if one is not None]))
        made = [None if one is None else (one, next(answers)) for one in aimed]
        return [
            one if one is None else self._settled(image, job, *one)
            for job, one in zip(jobs, made, strict=True)
        ]

    def _settled(self, image: Image, job: Job, aim: Aim, picture: Image | None) -> Made:
        return self._unsound() if picture is None else job.swap.finish(image, job.face, aim, picture)

    def _unsound(self) -> UnsoundError:
        return UnsoundError(
            f"{self.name} gave no picture", "Use its full-precision version, or the mesh swapper"
        )

    def _answers(self, aims: Sequence[Aim]) -> list[Image | None]:
        """The network's picture of each crop, None where it gave none."""
        asked = [(tile, aim.source) for aim in aims for tile in tiles(aim.crop, aim.boost)]
        pictures: list[Image | None] = []
        for first in range(0, len(asked), self.together):
            crops, sources = zip(*asked[first : first + self.together], strict=True)
            source = sources[0] if len(sources) == 1 else np.concatenate(sources)
            feed = {self.target_name: self.blob(*crops), self.source_name: source}
            output = self.session.run(None, feed)[0]
            for index in range(len(crops)):
                one = output[index : index + 1]
                pictures.append(self.picture(one) if is_sound(one) else None)
        answers: list[Image | None] = []
        for aim in aims:
            own, pictures = pictures[: aim.boost**2], pictures[aim.boost**2 :]
            sound = [one for one in own if one is not None]
            answers.append(interleave(sound, aim.boost) if len(sound) == len(own) else None)
        return answers

    def _picture(self, photo: SourcePhoto) -> NDArray[np.float32]:
        contract = self.contract
        size = contract.source_size
        matrix = alignment(five_points(photo.face.landmarks), contract.source_template, size)
        crop = cv2.warpAffine(photo.image, matrix, (size, size), borderMode=cv2.BORDER_REPLICATE)
        return PictureInput(contract, size)(np.asarray(crop, np.uint8)).copy()


@dataclass(frozen=True, slots=True)
class Aim:
    """The crop of one face, and what it is to become.

    Attributes:
        crop: uint8, (s·boost, s·boost, 3), BGR.
        matrix: from frame pixels to the crop's.
        source: the network's source input.
        boost: see `engine.swap.neural.boost`.
    """

    crop: Image
    matrix: Matrix
    source: NDArray[np.float32]
    boost: int


class NeuralFaceSwap:
    """Swaps one face with a network; only the enhancer remembers something from frame to frame.

    Attributes:
        quality: hints from the controller: less often enhanced, and no boost below full resolution.
        source: the network's source input.
    """

    def __init__(self, swapper: NeuralSwapper, identity: NeuralIdentity) -> None:
        self.quality: Quality = LADDER[0]
        self.source = identity.source
        self._swapper = swapper
        self._cadence: Cadence | None = None

    @property
    def boost(self) -> int:
        """The pixel boost at the present quality."""
        return self._swapper.extras.boost if self.quality.grid == 1 else 1

    def patch(self, image: Image, face: Face, strength: float) -> Patch | None:
        """See `engine.swap.base.FaceSwap`. The network decides the shape; `strength` has no effect.

        Raises:
            UnsoundError: the network gave no picture (not a number, or one flat colour).
        """
        del strength
        (made,) = self._swapper.patches(image, [Job(face, self)])
        if isinstance(made, Exception):
            raise made
        return made

    def aim(self, image: Image, face: Face) -> Aim | None:
        """The face's crop; None if it shows no face."""
        points = five_points(face.landmarks)
        if not np.isfinite(points).all():
            return None
        contract = self._swapper.contract
        size = contract.size * self.boost
        matrix = alignment(points, contract.template, size)
        crop = np.asarray(cv2.warpAffine(image, matrix, (size, size), flags=cv2.INTER_LINEAR), np.uint8)
        if int(crop.max()) - int(crop.min()) < FLAT:  # outside the picture, or the lens is covered
            return None
        return Aim(crop, matrix, self.source, self.boost)

    def finish(self, image: Image, face: Face, aim: Aim, made: Image) -> Patch:
        """The patch from the network's picture of a crop."""
        extras = self._swapper.extras
        size = len(aim.crop)
        if extras.match_colour:
            made = match_colour(made, aim.crop, box_mask(size))
        masks = [box_mask(size)]
        for name, part in list(extras.masks.items()):
            try:
                masks.append(part(aim.crop, face, aim.matrix))
            except Exception as error:  # noqa: BLE001 - whatever a provider raises
                del extras.masks[name]
                self._tell(name, error)
        mask = combined(masks)
        patch = Patch(made, mask, cv2.invertAffineTransform(aim.matrix).astype(np.float64))
        return patch if extras.enhancer is None else self._enhanced(image, face, patch, extras.enhancer)

    def _enhanced(self, image: Image, face: Face, patch: Patch, enhancer: Enhancer) -> Patch:
        if self._cadence is None:
            self._cadence = Cadence(enhancer)
        try:
            every = self._swapper.extras.every * self.quality.enhance
            return self._cadence(image, face, patch, every)
        except Exception as error:  # noqa: BLE001 - whatever a provider raises
            self._swapper.extras.enhancer = None
            self._tell(enhancer.name, error)
            return patch

    def _tell(self, name: str, error: Exception) -> None:
        message = f"{name} failed ({reason(error)}) and is left out"
        self._swapper.report("extra-failed", message, error=type(error).__name__)
