"""Writes an ONNX graph node by node."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models.convert.reader import Array, Network, UnsupportedError

OPSET = 17
IR_VERSION = 8
TO_NCHW = (0, 3, 1, 2)
AXIS_TO_NCHW = {0: 0, 1: 2, 2: 3, 3: 1}
_ACTIVATIONS = {0: "", 1: "Relu", 3: "Relu6"}


class Builder:
    """An ONNX graph in the making, for one TFLite network.

    Activations with four axes are NCHW. Weights that survive a round trip through float16 are kept
    as float16 with a Cast: ONNX Runtime folds it when it loads the model, so that the file is half
    as large and the results stay the same.

    Attributes:
        network: what is converted; folded constants are added to it.
        pads: PADs not written yet, since a convolution may take them: output → (source, NHWC pads).
        landmark_subsets: the landmarks round the lips and the eyes, as met in the attention mesh.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.pads: dict[int, tuple[int, Array]] = {}
        self.landmark_subsets: list[list[int]] = []
        self._values = {i: f"t{i}" for i in network.shapes}
        self._nodes: list[Any] = []
        self._initializers: dict[str, Any] = {}
        self._count = 0

    def name(self, i: int) -> str:
        """The ONNX name of a tensor that an operator writes."""
        return self._values[i]

    def const(self, value: Any, hint: str = "c") -> str:
        """A constant; equal ones are kept once."""
        value = np.ascontiguousarray(value)
        digest = hashlib.sha256(value.tobytes() + f"{value.dtype}{value.shape}".encode()).hexdigest()
        name = f"{hint}_{digest[:12]}"
        if name in self._initializers:
            return name
        half = value.astype(np.float16) if value.dtype == np.float32 and value.size >= 16 else None
        if half is not None and np.array_equal(half, value):
            self._initializers[name] = numpy_helper.from_array(half, name + "_f16")
            self._nodes.append(helper.make_node("Cast", [name + "_f16"], [name], name, to=TensorProto.FLOAT))
        else:
            self._initializers[name] = numpy_helper.from_array(value, name)
        return name

    def emit(self, kind: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        """Add a node; returns the name of its output."""
        if not output:
            self._count += 1
            output = f"{kind.lower()}_{self._count}"
        self._nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def emit_activated(
        self, kind: str, inputs: list[str], output: int, activation: int, **attributes: Any
    ) -> None:
        """Add a node and the activation that TFLite fuses with it."""
        if activation not in _ACTIVATIONS:
            raise UnsupportedError(f"fused activation {activation}")
        name, act = self.name(output), _ACTIVATIONS[activation]
        result = self.emit(kind, inputs, "" if act else name, **attributes)
        if act == "Relu":
            self.emit("Relu", [result], name)
        elif act == "Relu6":
            self.emit("Clip", [result, self.const(np.float32(0)), self.const(np.float32(6))], name)

    def value(self, i: int) -> str:
        """The ONNX name of an activation that is read; writes a PAD that could not be folded."""
        if i in self.pads:
            source, pads = self.pads.pop(i)
            order = [AXIS_TO_NCHW[a] for a in range(4)] if len(pads) == 4 else list(range(len(pads)))
            turned = np.zeros((len(pads), 2), np.int64)
            turned[order] = pads
            self.emit("Pad", [self.value(source), self.const(turned.T.reshape(-1), "pads")], self.name(i))
        return self.name(i)

    def operand(self, i: int, rank: int) -> str:
        """An activation, or a constant brought to the layout of activations with `rank` axes."""
        if i not in self.network.constants:
            return self.value(i)
        value = self.network.constants[i]
        if value.size == 1:
            return self.const(value.reshape(()))
        if rank == 4:
            value = value.reshape((1,) * (4 - value.ndim) + value.shape).transpose(TO_NCHW)
        return self.const(value)

    def slice(self, value: str, axis: int, start: int, stop: int) -> str:
        """`value[..., start:stop]` on one axis."""
        bounds = [self.const(np.array([v], np.int64)) for v in (start, stop, axis)]
        return self.emit("Slice", [value, *bounds])

    def reshape(self, value: str, *shape: int) -> str:
        """`value` with another shape."""
        return self.emit("Reshape", [value, self.const(np.array(shape, np.int64), "shape")])

    def public(self, i: int) -> Any:
        """Describe an input or output of the graph, which gets the name it had in TFLite."""
        shape = self.network.shapes[i]
        if len(shape) == 4:
            shape = tuple(shape[a] for a in TO_NCHW)
        name, public = self.value(i), self.network.names[i]
        for node in self._nodes:
            node.input[:] = [public if each == name else each for each in node.input]
            node.output[:] = [public if each == name else each for each in node.output]
        self._values[i] = public
        return helper.make_tensor_value_info(public, TensorProto.FLOAT, shape)

    def finish(self, inputs: list[Any], outputs: list[Any], notes: dict[str, str]) -> bytes:
        """The checked model, serialised the same way by every version of the tools."""
        needed = {output.name for output in outputs}
        nodes = []
        for node in reversed(self._nodes):
            if needed & set(node.output):
                needed |= set(node.input)
                nodes.append(node)
        weights = [tensor for tensor in self._initializers.values() if tensor.name in needed]
        graph = helper.make_graph(nodes[::-1], "graph", inputs, outputs, weights)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        model.producer_name, model.producer_version = "kawari", ""
        helper.set_model_props(model, notes)
        onnx.checker.check_model(onnx.shape_inference.infer_shapes(model, strict_mode=True), full_check=True)
        data: bytes = model.SerializeToString(deterministic=True)
        return data
