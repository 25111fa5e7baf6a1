"""Looks at a model file before anything loads it: is it what the catalogue says?

ONNX files are data, not code: what leads out of the file is refused (`engine.catalog.foreign`), and a
file without a published or pinned SHA-256 is tried out in another process first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import onnx

from engine.catalog.entry import LARGEST, Contract, Entry, Tensor
from engine.catalog.foreign import refuse_foreign
from engine.catalog.trial import try_out
from engine.errors import ModelError

_NUMBERS = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE}
_LFS = b"version https://git-lfs"


def sha256(path: Path) -> str:
    """SHA-256 of a file, hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_file(path: Path, entry: Entry, pinned: str = "", trial: Callable[[Path], None] = try_out) -> str:
    """Check a file against its entry.

    Args:
        path: the file.
        entry: what it should be.
        pinned: SHA-256 noted at an earlier import, used where the entry has none.
        trial: tries a file that nobody vouches for, see `engine.catalog.trial`.

    Returns:
        Its SHA-256, hex.

    Raises:
        ModelError: it is not that model; the message says how it differs.
    """
    again = f"Get it again: kawari models get {entry.name}"
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            head = stream.read(512).lstrip()
    except OSError as error:
        raise ModelError(f"{path.name} can't be read: {error.strerror}", again) from None
    if head.startswith(_LFS):
        raise ModelError(
            f"{path.name} is a Git LFS pointer, not the model itself",
            "Download the file itself, or run `git lfs pull` where it came from",
        )
    if head.startswith(b"<"):  # a field that no ONNX file begins with
        raise ModelError(
            f"{path.name} is a web page, not a model",
            "The download link may need a log-in; download it in a browser and use kawari models import",
        )
    if size == 0:
        raise ModelError(f"{path.name} is empty", again)
    if size > LARGEST:
        raise ModelError(f"{path.name} is larger than any known model ({size} bytes)", again)
    if entry.size and size < entry.size:
        raise ModelError(
            f"{path.name} is cut off, or another file: {size} of {entry.size} bytes",
            f"{again}; for a conversion of your own: kawari models import {entry.name} FILE --trust",
        )
    digest = sha256(path)
    expected = entry.sha256 or pinned
    if expected and digest != expected:
        which = "of the catalogue" if entry.sha256 else "that was imported"
        raise ModelError(
            f"{path.name} is not the {entry.title} {which}: its SHA-256 is {digest[:12]}…, "
            f"not {expected[:12]}…",
            f"{again}; for a conversion of your own: kawari models import {entry.name} FILE --trust",
        )
    if not expected:
        trial(path)
    check_graph(path, entry.contract)
    return digest


def parse(path: Path) -> onnx.ModelProto:
    """Parse an ONNX file; nothing outside it is read.

    Raises:
        ModelError: it is none.
    """
    try:
        model = onnx.load(str(path), load_external_data=False)
    except MemoryError:
        raise
    except Exception as error:
        raise ModelError(
            f"{path.name} is damaged or no ONNX file", "Get the file again from its publisher"
        ) from error
    if not model.graph.node or not model.opset_import:  # what comes last is missing if it was cut off
        raise ModelError(f"{path.name} is damaged or no ONNX file", "Get the file again from its publisher")
    return model


def check_graph(path: Path, contract: Contract) -> None:
    """Parse the ONNX file and compare its inputs and outputs with the contract.

    Raises:
        ModelError: it is no ONNX file, refers to something outside itself, or does not fit.
    """
    model = parse(path)
    refuse_foreign(model, path.name)
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    _compare(path.name, "input", contract.inputs, inputs)
    _compare(path.name, "output", contract.outputs, list(model.graph.output))


def _compare(file: str, what: str, wanted: tuple[Tensor, ...], found: list[onnx.ValueInfoProto]) -> None:
    if what == "input" and len(found) != len(wanted):
        raise ModelError(f"{file} has {len(found)} inputs where its kind has {len(wanted)}")
    if len(found) < len(wanted):
        raise ModelError(f"{file} has {len(found)} {what}s where its kind has {len(wanted)}")
    by_name = {value.name: value for value in found}
    for index, tensor in enumerate(wanted):
        if tensor.name and tensor.name not in by_name:
            raise ModelError(f"{file} has no {what} {tensor.name!r}; it has {', '.join(by_name)}")
        value = by_name[tensor.name] if tensor.name else found[index]
        if value.type.tensor_type.elem_type not in _NUMBERS:
            kind = onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type)
            raise ModelError(
                f"{file} has the {what} {value.name!r} of type {kind.lower()} where its kind has floats"
            )
        shape = tuple(
            dimension.dim_value if dimension.HasField("dim_value") else -1
            for dimension in value.type.tensor_type.shape.dim
        )
        fits = len(shape) == len(tensor.shape) and all(
            a == b or a < 1 or b < 1 for a, b in zip(shape, tensor.shape, strict=True)
        )
        if not fits and shape:
            raise ModelError(
                f"{file} has the {what} {value.name!r} of shape {list(shape)} where its kind has "
                f"{list(tensor.shape)}"
            )
