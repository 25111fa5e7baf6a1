"""Whatever in a model leads out of its file: weights elsewhere, engines, operators of somebody else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx

from engine.errors import ModelError

_DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}
_LOADERS = {"EPContext"}
"""Operators of ONNX Runtime's own domain that load a compiled engine from a path or from the node."""


def refuse_foreign(model: onnx.ModelProto, name: str) -> None:
    """Refuse a model that needs more than its own file and ONNX Runtime's own operators.

    All of the file is looked at, also branches, loop bodies, functions and the attributes of nodes:
    ONNX Runtime follows external weights wherever a tensor is.

    Args:
        model: parsed without loading external data.
        name: of the file, for messages.

    Raises:
        ModelError: it does.
    """
    for message in _all(model):
        if isinstance(message, onnx.TensorProto):
            if message.data_location == onnx.TensorProto.EXTERNAL or message.external_data:
                raise ModelError(
                    f"{name} keeps its weights in another file, which Kawari refuses",
                    "Use a version of the model that is one file",
                )
            continue
        # Not what is only declared: ONNX Runtime's quantiser declares domains that no node uses.
        operators = isinstance(message, onnx.NodeProto | onnx.FunctionProto)
        domain = message.domain if operators else ""
        if domain not in _DOMAINS:
            raise ModelError(
                f"{name} needs custom operators ({domain}), which Kawari refuses",
                "Use a version of the model that is plain ONNX",
            )
        if isinstance(message, onnx.NodeProto) and message.op_type in _LOADERS:
            raise ModelError(
                f"{name} holds a compiled engine ({message.op_type}), which Kawari refuses",
                "Use the model that it was compiled from",
            )


def _all(message: Any) -> Iterator[Any]:
    """The message and all in it; tensors are not looked into, their bytes may be half a gigabyte."""
    yield message
    if isinstance(message, onnx.TensorProto):
        return
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        repeated = not hasattr(value, "ListFields")
        for each in value if repeated else (value,):
            yield from _all(each)
