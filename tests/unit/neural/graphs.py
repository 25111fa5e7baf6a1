"""Tiny networks with the contracts of the catalogue, and what they compute, to check them against."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from engine.catalog.entry import Contract, Kind

_KIND = {np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE}


def weights(length: int) -> np.ndarray:
    """Fixed pseudo-random weights, of the size that makes a unit vector's product about 1."""
    return np.random.default_rng(length).normal(size=length).astype(np.float32)


class Builder:
    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def const(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, kind: str, *inputs: str, out: str = "", **attributes: Any) -> str:
        out = out or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], **attributes))
        return out

    def save(self, path: Path, inputs: list[Any], outputs: list[Any]) -> Path:
        graph = helper.make_graph(self.nodes, path.stem, inputs, outputs, self.constants)
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(path)
        )
        return path


def info(name: str, shape: tuple[int, ...], kind: int = TensorProto.FLOAT, several: bool = False) -> Any:
    sides = [side if side > 0 else 1 for side in shape]
    return helper.make_tensor_value_info(name, kind, ["n", *sides[1:]] if several else sides)


def swapper(path: Path, contract: Contract, *, gain: float = 0.5, several: bool = False) -> Path:
    """Half the target's colours plus a part of the source: 0.5·t + 0.25 + 0.2·tanh(source · weights).

    Args:
        gain: −0.5 turns the colours round, so that a test can tell the swap from the face.
        several: the graph takes any number of faces.
    """
    b = Builder()
    side = contract.source_size or 512
    if contract.source_size:
        mean = b.op("ReduceMean", "source", axes=[2, 3], keepdims=0)
        number = b.op("MatMul", mean, b.const(np.float32([[1.0], [2.0], [4.0]])))
    else:
        number = b.op("MatMul", "source", b.const(weights(side)[:, None]))
    push = b.op("Mul", b.op("Tanh", number), b.const(np.float32(0.2)))
    push = b.op("Reshape", push, b.const(np.int64([-1, 1, 1, 1])))
    mean = b.const(np.float32(contract.mean).reshape(1, 3, 1, 1))
    std = b.const(np.float32(contract.std).reshape(1, 3, 1, 1))
    picture = b.op("Add", b.op("Mul", "target", std), mean)
    scaled = b.op("Mul", picture, b.const(np.float32(gain)))
    half = b.op("Add", scaled, b.const(np.float32(0.5 - gain / 2)))
    shown = b.op("Sub", b.op("Add", half, push), b.const(np.float32(contract.out_mean)))
    b.op("Div", shown, b.const(np.float32(contract.out_std)), out="output")
    inputs = [info(tensor.name, tensor.shape, several=several) for tensor in contract.inputs]
    outputs = [info("output", (1, 3, contract.size, contract.size), several=several)]
    if contract.source.value == "emap":
        b.constants.append(numpy_helper.from_array(emap(), "buff2fs"))
    return b.save(path, inputs, outputs)


def emap() -> np.ndarray:
    return np.random.default_rng(9).normal(size=(512, 512)).astype(np.float32) / np.float32(22)


def converter(path: Path, gain: float) -> Path:
    """The embedding backwards, times `gain`."""
    b = Builder()
    flipped = b.op("Gather", "input", b.const(np.arange(511, -1, -1)), axis=1)
    b.op("Mul", flipped, b.const(np.float32(gain)), out="output")
    return b.save(path, [info("input", (1, 512))], [info("output", (1, 512))])


def embedder(path: Path) -> Path:
    """The mean colours of a picture's quarters, spread over 512 numbers."""
    b = Builder()
    pooled = b.op("AveragePool", "input.1", kernel_shape=[56, 56], strides=[56, 56])
    flat = b.op("Reshape", pooled, b.const(np.int64([1, 12])))
    spread = np.random.default_rng(2).normal(size=(12, 512)).astype(np.float32)
    b.op("MatMul", flat, b.const(spread), out="683")
    return b.save(path, [info("input.1", (1, 3, 112, 112))], [info("683", (1, 512))])


def enhancer(path: Path, contract: Contract, weight: type = np.float64) -> Path:
    """Adds a fixed fine pattern, as strong as the second input says where there is one."""
    b = Builder()
    size = contract.size
    checks = np.indices((size, size)).sum(0) % 2 * 2 - 1
    pattern = b.const((checks * 0.2).astype(np.float32)[None, None])
    inputs = [info("input", (1, 3, size, size))]
    if len(contract.inputs) > 1:
        inputs.append(info("weight", (1,), _KIND[weight]))
        pattern = b.op("Mul", pattern, b.op("Cast", "weight", to=TensorProto.FLOAT))
    b.op("Add", "input", pattern, out="output")
    return b.save(path, inputs, [info("output", (1, 3, size, size))])


def of_kind(path: Path, kind: Kind, contract: Contract) -> Path:
    if kind is Kind.SWAPPER:
        return swapper(path, contract)
    if kind is Kind.ENHANCER:
        return enhancer(path, contract)
    if kind is Kind.EMBEDDER:
        return embedder(path)
    assert kind is Kind.CONVERTER
    return converter(path, 3.0)
