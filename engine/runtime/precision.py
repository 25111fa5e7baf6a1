"""Networks in lower precision: half floats, and 8-bit integers calibrated on real pictures."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime as ort
from numpy.typing import NDArray

Feed = Mapping[str, NDArray[Any]]
_WARNINGS, _ERRORS = 2, 3
_BY_CHANNEL = 13
"""The first version of ONNX in which weights have a scale for each channel."""
_LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "LeakyRelu", "Relu", "Pad", "Resize")
"""Heavy ones, and those between them that would bring every picture back to floats and forth again."""


def to_fp16(source: Path, target: Path) -> None:
    """Write the network with half-precision weights and arithmetic; inputs and outputs stay float32.

    Args:
        source: an ONNX file, read only.
        target: written.
    """
    from onnxruntime.transformers.float16 import convert_float_to_float16

    model = onnx.load(str(source), load_external_data=False)
    kept = _unread(model)
    with _quiet():
        half = convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=True)
    _restore(half, kept)
    onnx.save(half, str(target))


def to_int8(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
    """Write the network with 8-bit weights (signed, by channel) and activations (unsigned).

    Static quantisation as of ONNX Runtime's page "Quantize ONNX models"; the ranges are the least and
    largest values seen. The first and the last layer stay exact: they touch the picture itself.

    Args:
        source: an ONNX file, read only.
        target: written.
        feeds: inputs of real pictures, a few dozen at best.
    """
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._feeds = iter(feeds)

        def get_next(self) -> Feed | None:
            return next(self._feeds, None)

    model = onnx.load(str(source), load_external_data=False)
    kept = _unread(model)
    if max(one.version for one in model.opset_import if one.domain in ("", "ai.onnx")) < _BY_CHANNEL:
        model = onnx.version_converter.convert_version(model, _BY_CHANNEL)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder, _quiet():
        _pool_means(model)
        newer, prepared = Path(folder) / "newer.onnx", Path(folder) / "prepared.onnx"
        onnx.save(model, str(newer))
        del model  # hundreds of megabytes
        quant_pre_process(newer, prepared, skip_symbolic_shape=True)
        heavy = [
            node.name
            for node in onnx.load(str(prepared), load_external_data=False).graph.node
            if node.op_type == "Conv"
        ]
        quantize_static(
            prepared,
            target,
            Reader(),
            quant_format=QuantFormat.QDQ,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            per_channel=True,
            op_types_to_quantize=list(_LAYERS),
            nodes_to_exclude=[heavy[0], heavy[-1]] if len(heavy) > 2 else [],
        )
    model = onnx.load(str(target), load_external_data=False)
    _restore(model, kept)
    onnx.save(model, str(target))


def _pool_means(model: Any) -> None:
    """Write the means of whole channels as pooling, for which ONNX Runtime has a faster kernel.

    Instance normalisation is exported as its single steps; the means take a fifth of the 8-bit
    network's time otherwise.
    """
    for node in model.graph.node:
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        over_channels = list(attributes.get("axes", ())) == [2, 3] and attributes.get("keepdims", 1) == 1
        if node.op_type == "ReduceMean" and over_channels:
            node.op_type = "GlobalAveragePool"
            del node.attribute[:]


def psnr(one: NDArray[np.floating], other: NDArray[np.floating], span: float) -> float:
    """Peak signal-to-noise ratio in dB; 99 for equal ones.

    Args:
        one, other: same shape.
        span: distance of the least and the largest possible value.
    """
    error = float(np.mean((one.astype(np.float64) - other.astype(np.float64)) ** 2))
    return min(99.0, 10 * float(np.log10(span * span / error))) if error > 0 else 99.0


def _unread(model: Any) -> list[Any]:
    """Initializers that no node reads, such as inswapper's emap: converters drop or round them."""
    read = {name for node in model.graph.node for name in node.input}
    read |= {value.name for value in model.graph.output}
    kept = []
    for tensor in model.graph.initializer:
        if tensor.name not in read:
            copy = onnx.TensorProto()
            copy.CopyFrom(tensor)
            kept.append(copy)
    return kept


def _restore(model: Any, kept: list[Any]) -> None:
    """Put them back in the order they had, at the end, where loaders look for them."""
    names = {tensor.name for tensor in kept}
    rest = [tensor for tensor in model.graph.initializer if tensor.name not in names]
    del model.graph.initializer[:]
    model.graph.initializer.extend([*rest, *kept])


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the advice that the converters print for developers."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    ort.set_default_logger_severity(_ERRORS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
        ort.set_default_logger_severity(_WARNINGS)
