"""Faces judged to be children's, where the user has added a model that tells age.

The contract is that of InsightFace's gender and age network (`insightface.model_zoo.attribute`): the
face's box, half as large again, squeezed into 96×96 pixels; the third output is the age over 100.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from engine.catalog.entry import Contract
from engine.errors import RefusedError
from engine.swap.neural.tensors import PictureInput
from engine.types import Face, Image

YOUNGEST = 15.0
"""Years; an estimate below this refuses. A choice, not a measurement: such networks err by several
years either way, and adults who look young must not be turned away by that alone. Who is 15 to 17 is
mostly missed; the consent question is there for them."""
_MARGIN = 1.5
_AGE, _SCALE = 2, 100


class AgeCheck:
    """Estimates ages. Not thread-safe.

    Args:
        session: an `onnxruntime.InferenceSession` of a model of kind age.
        contract: its contract.
    """

    def __init__(self, session: Any, contract: Contract) -> None:
        self._session = session
        self._size = contract.size
        self._name = session.get_inputs()[0].name
        self._blob = PictureInput(contract, contract.size)

    def years(self, image: Image, face: Face) -> float:
        """The estimated age.

        Args:
            image: uint8, H×W×3, BGR.
            face: in it.
        """
        x0, y0, x1, y1 = face.box
        scale = self._size / (max(x1 - x0, y1 - y0, 1.0) * _MARGIN)
        shift = self._size / 2 - np.array([x0 + x1, y0 + y1]) / 2 * scale
        matrix = np.array([[scale, 0, shift[0]], [0, scale, shift[1]]])
        crop = np.asarray(cv2.warpAffine(image, matrix, (self._size, self._size)), np.uint8)
        output = self._session.run(None, {self._name: self._blob(crop)})[0]
        return float(np.asarray(output).reshape(-1)[_AGE] * _SCALE)

    def is_child(self, image: Image, face: Face) -> bool:
        """Whether the face is judged clearly under age; see `YOUNGEST`."""
        return self.years(image, face) < YOUNGEST

    def require_adult(self, image: Image, face: Face) -> None:
        """Refuse a source photo that seems to show a child.

        Raises:
            RefusedError: it does.
        """
        if self.is_child(image, face):
            raise RefusedError(
                "Kawari does not use this photo: it seems to show a child", "Choose a photo of an adult"
            )


def open_age(home: Path) -> AgeCheck | None:
    """The first installed model that tells age; None if there is none.

    Args:
        home: Kawari's folder.

    Raises:
        ModelError: there is one, but it was changed or can't be run.
    """
    if not (home / "models").is_dir():
        return None  # no model at all: ONNX's parser need not be loaded
    from engine.catalog import open_store
    from engine.catalog.entry import Kind
    from engine.catalog.opening import on_rung
    from engine.runtime.providers import CPU

    store = open_store(home)
    for name, entry in store.catalogue.items():
        if entry.kind is Kind.AGE and store.installed(name) is not None:
            return AgeCheck(on_rung(store.path(name))(CPU), entry.contract)
    return None
