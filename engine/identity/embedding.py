"""Identity as a vector: a photo through a recognition network, once per photo and network."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.align import alignment, five_points
from engine.catalog.entry import Contract
from engine.folders import write_private
from engine.identity.demo import is_demo
from engine.identity.photo import SourcePhoto
from engine.identity.seal import Seal, UnreadableError
from engine.swap.neural.tensors import PictureInput
from engine.types import Image, Points

Embedding = NDArray[np.float32]
"""float32 (512,), as the network gives it (not normalised)."""

OUTLIER = 0.25
"""Cosine to the others' mean below which a photo is taken to show somebody else."""


class Embedder:
    """A recognition network.

    Args:
        session: an `onnxruntime.InferenceSession` of an embedder.
        contract: its contract.
    """

    def __init__(self, session: Any, contract: Contract) -> None:
        self._session = session
        self._contract = contract
        self._input = session.get_inputs()[0].name
        self._blob = PictureInput(contract, contract.size)

    def embed(self, image: Image, points: Points) -> Embedding:
        """The embedding of the face at the five points.

        Args:
            image: uint8, H×W×3, BGR.
            points: float32 (5, 2), see `engine.align`.
        """
        size = self._contract.size
        crop = cv2.warpAffine(image, alignment(points, self._contract.template, size), (size, size))
        output = self._session.run(None, {self._input: self._blob(np.asarray(crop, np.uint8))})[0]
        return np.asarray(output, np.float32).reshape(-1)


class EmbeddingCache:
    """Embeddings by photo and network, in memory and on disk; no picture is kept.

    Args:
        folder: where they are kept between runs, readable by its owner only; None keeps them in
            memory alone.
        model: SHA-256 of the network: another network gives other vectors.
        seal: encrypts them; None with no folder.
    """

    def __init__(self, folder: Path | None, model: str, seal: Seal | None = None) -> None:
        self._folder = folder
        self._model = model
        self._seal = seal
        self._known: dict[str, Embedding] = {}

    def get(self, photo: SourcePhoto, embedder: Embedder) -> Embedding:
        """The photo's embedding, computed at most once."""
        known = self._known.get(photo.digest)
        if known is None:
            known = self._load(photo.digest)
        if known is None:
            known = embedder.embed(photo.image, five_points(photo.face.landmarks))
            self._save(photo.digest, known)
        self._known[photo.digest] = known
        return known

    def forget(self) -> None:
        """Remove everything, also from the disk."""
        self._known.clear()
        if self._folder is not None:
            for path in self._folder.glob("*.npy"):
                path.unlink(missing_ok=True)

    def _path(self, digest: str) -> Path | None:
        return self._folder and self._folder / f"{digest[:32]}-{self._model[:16]}.npy"

    def _load(self, digest: str) -> Embedding | None:
        path = self._path(digest)
        if path is None:
            return None
        try:
            data = path.read_bytes()
            if self._seal is not None and not is_demo(digest):
                data = self._seal.open(data, path.name)
            return np.asarray(np.load(io.BytesIO(data), allow_pickle=False), np.float32)
        except (OSError, ValueError, EOFError, UnreadableError):
            return None

    def _save(self, digest: str, embedding: Embedding) -> None:
        path = self._path(digest)
        if path is None:
            return
        buffer = io.BytesIO()
        np.save(buffer, embedding)
        data = buffer.getvalue()
        with contextlib.suppress(UnreadableError):  # no key: it is made again next time
            if self._seal is not None and not is_demo(digest):
                data = self._seal.close(data, path.name)
            write_private(path, data)


def average(embeddings: Sequence[Embedding]) -> tuple[Embedding, tuple[int, ...]]:
    """The mean direction of several photos' embeddings, without those of somebody else.

    Args:
        embeddings: one or more, same length.

    Returns:
        The mean of the kept ones, each scaled to length 1 first and the mean scaled to their mean
        length; and the indices of the photos left out.
    """
    vectors = np.stack(embeddings).astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1)
    units = vectors / lengths[:, None]
    keep = list(range(len(units)))
    while len(keep) > 2:  # of two that differ, nobody can say which is the stranger
        total = units[keep].sum(0)
        similarity = []
        for index in keep:
            rest = total - units[index]
            similarity.append(float(units[index] @ rest / np.linalg.norm(rest)))
        worst = int(np.argmin(similarity))
        if similarity[worst] >= OUTLIER:
            break
        keep.pop(worst)
    mean = units[keep].mean(0)
    mean *= lengths[keep].mean() / np.linalg.norm(mean)
    left_out = tuple(index for index in range(len(units)) if index not in keep)
    return mean.astype(np.float32), left_out
