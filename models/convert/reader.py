"""Reads a TFLite file into plain Python values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

Array = NDArray[Any]

_DTYPES: dict[int, type[np.generic]] = {
    tflite.TensorType.FLOAT32: np.float32,
    tflite.TensorType.FLOAT16: np.float16,
    tflite.TensorType.INT32: np.int32,
    tflite.TensorType.INT64: np.int64,
    tflite.TensorType.UINT8: np.uint8,
    tflite.TensorType.INT8: np.int8,
    tflite.TensorType.BOOL: np.bool_,
}
_OPERATORS = {v: k for k, v in vars(tflite.BuiltinOperator).items() if isinstance(v, int)}
_INDEX_VECTORS = {1: tflite.Int32Vector, 2: tflite.Uint16Vector, 3: tflite.Uint8Vector}


class UnsupportedError(Exception):
    """The network uses something this converter does not know."""


@dataclass(frozen=True)
class Op:
    """One operator.

    Attributes:
        kind: TFLite's name in capitals, or the name of a custom operator.
        version: of its definition.
        inputs, outputs: tensor numbers; −1 = left out.
        custom: options of a custom operator, raw.
    """

    kind: str
    version: int
    inputs: list[int]
    outputs: list[int]
    custom: bytes
    _table: Any

    def options(self, cls: Any) -> Any:
        """The options of a built-in operator, read by the schema's class."""
        options = cls()
        options.Init(self._table.Bytes, self._table.Pos)
        return options


@dataclass(frozen=True)
class Network:
    """A TFLite graph.

    Attributes:
        shapes: of every tensor, NHWC where it has four axes.
        names: of every tensor.
        constants: weights and other values, by tensor number.
        ops: in the order of execution.
        inputs, outputs: tensor numbers.
    """

    shapes: dict[int, tuple[int, ...]]
    names: dict[int, str]
    inputs: list[int]
    outputs: list[int]
    constants: dict[int, Array] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)


def read(data: bytes) -> Network:
    """Parse a TFLite file; raises `UnsupportedError` if it has more than one graph."""
    model = tflite.Model.GetRootAsModel(data, 0)
    if model.SubgraphsLength() != 1:
        raise UnsupportedError("more than one subgraph")
    graph = model.Subgraphs(0)
    tensors = [graph.Tensors(i) for i in range(graph.TensorsLength())]
    network = Network(
        shapes={
            i: tuple(int(d) for d in t.ShapeAsNumpy()) if t.ShapeLength() else ()
            for i, t in enumerate(tensors)
        },
        names={i: t.Name().decode() for i, t in enumerate(tensors)},
        inputs=[int(i) for i in graph.InputsAsNumpy()],
        outputs=[int(i) for i in graph.OutputsAsNumpy()],
    )
    for i, tensor in enumerate(tensors):
        buffer = model.Buffers(tensor.Buffer())
        if buffer.DataLength():
            values = np.frombuffer(bytes(buffer.DataAsNumpy()), _DTYPES[tensor.Type()])
            shape, sparsity = network.shapes[i], tensor.Sparsity()
            network.constants[i] = (
                values.reshape(shape) if sparsity is None else densify(values, shape, sparsity)
            )
    network.ops.extend(_op(model, graph.Operators(i)) for i in range(graph.OperatorsLength()))
    return network


def _op(model: Any, op: Any) -> Op:
    code = model.OperatorCodes(op.OpcodeIndex())
    builtin = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    custom = builtin == tflite.BuiltinOperator.CUSTOM
    return Op(
        kind=code.CustomCode().decode() if custom else _OPERATORS[builtin],
        version=code.Version(),
        inputs=[int(i) for i in op.InputsAsNumpy()],
        outputs=[int(i) for i in op.OutputsAsNumpy()],
        custom=bytes(op.CustomOptionsAsNumpy()) if op.CustomOptionsLength() else b"",
        _table=op.BuiltinOptions(),
    )


def densify(values: Array, shape: tuple[int, ...], sparsity: Any) -> Array:
    """Expand a tensor stored in TFLite's sparse encoding (its schema, `SparsityParameters`).

    The tensor is a tree: each level is one axis (or the inside of a block of one), dense or a list
    of the indices present. Walking the levels gives the coordinates of every stored value.
    """
    rank = len(shape)
    order = [int(d) for d in sparsity.TraversalOrderAsNumpy()]
    positions = np.zeros(1, np.int64)
    coordinates: list[Array] = []
    block = np.ones(rank, np.int64)
    for level, axis in enumerate(order):
        meta = sparsity.DimMetadata(level)
        if meta.Format() == tflite.DimensionType.DENSE:
            size = meta.DenseSize()
            coordinate = np.tile(np.arange(size), len(positions))
            parent = np.repeat(np.arange(len(positions)), size)
            positions = positions[parent] * size + coordinate
            if axis >= rank:
                block[sparsity.BlockMap(axis - rank)] = size
        else:
            segments = _indices(meta.ArraySegmentsType(), meta.ArraySegments())
            indices = _indices(meta.ArrayIndicesType(), meta.ArrayIndices())
            counts = segments[positions + 1] - segments[positions]
            parent = np.repeat(np.arange(len(positions)), counts)
            starts = np.repeat(segments[positions] - np.cumsum(counts) + counts, counts)
            positions = starts + np.arange(counts.sum())
            coordinate = indices[positions]
        coordinates = [each[parent] for each in coordinates] + [coordinate]
    place = [np.zeros(len(positions), np.int64) for _ in range(rank)]
    for axis, coordinate in zip(order, coordinates, strict=True):
        if axis < rank:
            place[axis] += coordinate * block[axis]
        else:
            place[sparsity.BlockMap(axis - rank)] += coordinate
    dense = np.zeros(shape, values.dtype)
    dense[tuple(place)] = values[positions]
    return dense


def _indices(kind: int, table: Any) -> Array:
    vector = _INDEX_VECTORS[kind]()
    vector.Init(table.Bytes, table.Pos)
    indices: Array = vector.ValuesAsNumpy().astype(np.int64)
    return indices
