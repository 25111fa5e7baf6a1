"""What a swapper network takes as the source person, made once per identity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from engine.catalog.entry import SourceInput
from engine.errors import ModelError
from engine.identity.embedding import Embedding

_EMAP_NAME = "buff2fs"
"""The matrix's name in the published inswapper files."""
_SIDE = 512

Emap = NDArray[np.float32]


def read_emap(path: Path) -> Emap:
    """The 512×512 matrix that inswapper keeps in its graph without using it there.

    It is found by name, else as the one 512×512 initializer that no node reads, else (InsightFace's
    rule) as the last initializer: quantisers drop or reorder what no node reads.

    Raises:
        ModelError: the graph has none.
    """
    graph = onnx.load(str(path), load_external_data=False).graph
    read = {name for node in graph.node for name in node.input}
    square = [tensor for tensor in graph.initializer if list(tensor.dims) == [_SIDE, _SIDE]]
    named = [tensor for tensor in square if tensor.name == _EMAP_NAME]
    unread = [tensor for tensor in square if tensor.name not in read]
    last = [tensor for tensor in square if tensor is graph.initializer[-1]]
    for candidates in (named, unread, last):
        if len(candidates) == 1:
            try:
                return numpy_helper.to_array(candidates[0]).astype(np.float32)
            except ValueError:
                break  # it has not as many numbers as it says
    raise ModelError(
        f"{path.name} has lost its embedding matrix",
        "Use the original file: a converter has dropped a part that no node reads",
    )


def latent(
    embedding: Embedding, kind: SourceInput, *, emap: Emap | None = None, converter: Any = None
) -> NDArray[np.float32]:
    """The network's source input, float32 (1, 512).

    Args:
        embedding: the averaged embedding of the source person.
        kind: what the contract asks for.
        emap: for `SourceInput.EMAP`.
        converter: an `onnxruntime.InferenceSession` for the converted kinds.

    Raises:
        ModelError: the emap or the converter is missing, or the kind takes no embedding.
    """
    row = embedding.reshape(1, -1).astype(np.float32)
    length = np.float32(np.linalg.norm(row))
    if kind is SourceInput.UNIT:
        return np.asarray(row / length, np.float32)
    if kind is SourceInput.EMAP and emap is not None:
        # InsightFace normalises the product, FaceFusion divides by the embedding's length; the
        # network was published with the former.
        product = (row / length) @ emap
        return np.asarray(product / np.linalg.norm(product), np.float32)
    if kind in (SourceInput.CONVERTED_RAW, SourceInput.CONVERTED_UNIT) and converter is not None:
        converted = converter.run(None, {converter.get_inputs()[0].name: row})[0]
        converted = np.asarray(converted, np.float32).reshape(1, -1)
        if kind is SourceInput.CONVERTED_UNIT:
            converted /= np.linalg.norm(converted)
        return converted
    raise ModelError(
        f"The swapper asks for a source of kind '{kind.value}' that can't be made",
        "Get the models it needs: kawari models list shows them",
    )
