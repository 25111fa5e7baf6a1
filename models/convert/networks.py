"""One TFLite network after another as ONNX."""

from __future__ import annotations

from models.convert import attention
from models.convert.builder import Builder
from models.convert.operators import OPERATORS
from models.convert.reader import UnsupportedError, read


def convert(data: bytes, notes: dict[str, str], *, merge: bool = False) -> bytes:
    """Convert a float TFLite network.

    Args:
        data: the TFLite file.
        notes: kept in the model's metadata.
        merge: for the attention mesh: one output (1, 478, 3) in place of its six partial ones.

    Returns:
        The ONNX file; the same input gives the same bytes.

    Raises:
        UnsupportedError: the network has something this converter does not know.
    """
    build = Builder(read(data))
    for op in build.network.ops:
        if op.kind not in OPERATORS:
            raise UnsupportedError(op.kind)
        OPERATORS[op.kind](build, op)
    inputs = [build.public(i) for i in build.network.inputs]
    outputs = [build.public(i) for i in build.network.outputs]
    if merge:
        outputs = attention.merge_attention(build)
    return build.finish(inputs, outputs, notes)
