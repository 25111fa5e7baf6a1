"""TFLite's built-in operators as ONNX nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tflite

from models.convert.builder import TO_NCHW, Builder
from models.convert.reader import Array, Op, UnsupportedError

Handler = Callable[[Builder, Op], None]
OPERATORS: dict[str, Handler] = {}
"""What writes each kind of operator."""


def operator(kind: str) -> Callable[[Handler], Handler]:
    """Register the handler of one kind."""

    def register(handler: Handler) -> Handler:
        OPERATORS[kind] = handler
        return handler

    return register


def same_padding(size: int, kernel: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """Padding before and after that TensorFlow's SAME means for one axis."""
    total = max((math.ceil(size / stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


@operator("DEQUANTIZE")
def _dequantize(build: Builder, op: Op) -> None:
    build.network.constants[op.outputs[0]] = build.network.constants[op.inputs[0]].astype(np.float32)


@operator("DENSIFY")
def _densify(build: Builder, op: Op) -> None:
    build.network.constants[op.outputs[0]] = build.network.constants[op.inputs[0]]  # dense since it was read


@operator("PAD")
def _pad(build: Builder, op: Op) -> None:
    build.pads[op.outputs[0]] = op.inputs[0], build.network.constants[op.inputs[1]]


@operator("CONV_2D")
def _conv(build: Builder, op: Op) -> None:
    weight = build.network.constants[op.inputs[1]].transpose(0, 3, 1, 2)
    _convolve(build, op, op.options(tflite.Conv2DOptions), weight, 1)


@operator("DEPTHWISE_CONV_2D")
def _depthwise(build: Builder, op: Op) -> None:
    weight = build.network.constants[op.inputs[1]].transpose(3, 0, 1, 2)
    channels = build.network.shapes[op.inputs[0]][3]
    _convolve(build, op, op.options(tflite.DepthwiseConv2DOptions), weight, channels)


def _convolve(build: Builder, op: Op, options: Any, weight: Array, group: int) -> None:
    source = op.inputs[0]
    kernel, size = weight.shape[2:], build.network.shapes[source][1:3]
    strides = [options.StrideH(), options.StrideW()]
    dilations = [options.DilationHFactor(), options.DilationWFactor()]
    pads = np.zeros((2, 2), np.int64)
    if options.Padding() == tflite.Padding.SAME:
        pads = np.array([same_padding(size[a], kernel[a], strides[a], dilations[a]) for a in range(2)])
    elif source in build.pads and not build.pads[source][1][[0, 3]].any():
        source, every = build.pads[source]  # the PAD in front becomes the convolution's own
        pads = every[1:3]
    inputs = [build.value(source), build.const(weight, "w")]
    if len(op.inputs) > 2 and op.inputs[2] >= 0:
        inputs.append(build.const(build.network.constants[op.inputs[2]], "b"))
    build.emit_activated(
        "Conv",
        inputs,
        op.outputs[0],
        options.FusedActivationFunction(),
        group=group,
        kernel_shape=list(kernel),
        strides=strides,
        dilations=dilations,
        pads=[int(p) for p in pads.T.reshape(-1)],
    )


@operator("MAX_POOL_2D")
def _max_pool(build: Builder, op: Op) -> None:
    options = op.options(tflite.Pool2DOptions)
    kernel = (options.FilterHeight(), options.FilterWidth())
    strides = (options.StrideH(), options.StrideW())
    size = build.network.shapes[op.inputs[0]][1:3]
    pads = np.zeros((2, 2), np.int64)
    if options.Padding() == tflite.Padding.SAME:
        pads = np.array([same_padding(size[a], kernel[a], strides[a]) for a in range(2)])
    build.emit_activated(
        "MaxPool",
        [build.value(op.inputs[0])],
        op.outputs[0],
        options.FusedActivationFunction(),
        kernel_shape=list(kernel),
        strides=list(strides),
        pads=[int(p) for p in pads.T.reshape(-1)],
    )


@operator("PRELU")
def _prelu(build: Builder, op: Op) -> None:
    """`slope * x + (1 - slope) * relu(x)` as two depthwise convolutions.

    ONNX Runtime's CPU kernel of PRelu is slow (65 % of the network's time) and keeps its neighbours
    out of the blocked layout.
    """
    slope = build.network.constants[op.inputs[1]]
    if slope.size != build.network.shapes[op.inputs[0]][3]:
        raise UnsupportedError("PRELU with a slope for each pixel")
    x, slope = build.value(op.inputs[0]), slope.reshape(-1, 1, 1, 1)
    depthwise: dict[str, Any] = {"group": slope.size, "kernel_shape": [1, 1]}
    rest = build.emit("Conv", [build.emit("Relu", [x]), build.const(1 - slope, "slope")], **depthwise)
    straight = build.emit("Conv", [x, build.const(slope, "slope")], **depthwise)
    build.emit("Add", [rest, straight], build.name(op.outputs[0]))


def _binary(build: Builder, op: Op, kind: str, options: Any) -> None:
    rank = len(build.network.shapes[op.outputs[0]])
    inputs = [build.operand(i, rank) for i in op.inputs]
    build.emit_activated(kind, inputs, op.outputs[0], options.FusedActivationFunction())


@operator("ADD")
def _add(build: Builder, op: Op) -> None:
    _binary(build, op, "Add", op.options(tflite.AddOptions))


@operator("MUL")
def _mul(build: Builder, op: Op) -> None:
    _binary(build, op, "Mul", op.options(tflite.MulOptions))


@operator("RESHAPE")
def _reshape(build: Builder, op: Op) -> None:
    source, target = build.network.shapes[op.inputs[0]], build.network.shapes[op.outputs[0]]
    value = build.value(op.inputs[0])
    if len(source) == 4 and source[1:3] != (1, 1):  # mixes places with channels
        value = build.emit("Transpose", [value], perm=[0, 2, 3, 1])
    if len(target) == 4:
        if target[1:3] != (1, 1):
            raise UnsupportedError("RESHAPE to an image")
        target = tuple(target[a] for a in TO_NCHW)
    shape = build.const(np.array(target, np.int64), "shape")
    build.emit("Reshape", [value, shape], build.name(op.outputs[0]))


@operator("STRIDED_SLICE")
def _strided_slice(build: Builder, op: Op) -> None:
    if build.network.shapes[op.inputs[0]] != build.network.shapes[op.outputs[0]]:
        raise UnsupportedError("STRIDED_SLICE that drops something")
    build.emit("Identity", [build.value(op.inputs[0])], build.name(op.outputs[0]))


@operator("RESIZE_BILINEAR")
def _resize(build: Builder, op: Op) -> None:
    options = op.options(tflite.ResizeBilinearOptions)
    mode = "half_pixel" if options.HalfPixelCenters() else "asymmetric"
    mode = "align_corners" if options.AlignCorners() else mode
    source, target = build.network.shapes[op.inputs[0]], build.network.shapes[op.outputs[0]]
    scales = build.const(np.array([1, 1, target[1] / source[1], target[2] / source[2]], np.float32), "scales")
    inputs = [build.value(op.inputs[0]), "", scales]
    build.emit(
        "Resize", inputs, build.name(op.outputs[0]), mode="linear", coordinate_transformation_mode=mode
    )


@operator("DEPTH_TO_SPACE")
def _depth_to_space(build: Builder, op: Op) -> None:
    block = op.options(tflite.DepthToSpaceOptions).BlockSize()
    build.emit(
        "DepthToSpace", [build.value(op.inputs[0])], build.name(op.outputs[0]), blocksize=block, mode="DCR"
    )
