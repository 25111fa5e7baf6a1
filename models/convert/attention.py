"""MediaPipe's custom operators of the attention mesh as standard ONNX nodes, and its six outputs as one.

Semantics: MediaPipe's `util/tflite/operations` and `modules/face_landmark/
tensors_to_face_landmarks_with_attention.pbtxt` (Apache-2.0).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flatbuffers import flexbuffers
from onnx import TensorProto, helper

from models.convert.builder import Builder
from models.convert.operators import operator
from models.convert.reader import Op, UnsupportedError


@operator("Landmarks2TransformMatrix")
def _landmarks2transformmatrix(build: Builder, op: Op) -> None:
    """Affine map from an upright ``output`` grid to the rotated box round some landmarks."""
    if op.version != 2:
        raise UnsupportedError("Landmarks2TransformMatrix v1")
    options = flexbuffers.Loads(op.custom)
    subset = [int(v) for v in options["subset_idxs"]]
    build.landmark_subsets.append(subset)
    size = np.array([options["output_width"], options["output_height"]], np.float32)
    scale = np.array([options["scale_x"], options["scale_y"]], np.float32) / size
    target = options["target_rotation_radians"]

    xy = build.slice(build.value(op.inputs[0]), 2, 0, 2)
    ends = [
        build.emit("Gather", [xy, build.const(np.array([options[k]], np.int64))], axis=1)
        for k in ("left_rotation_idx", "right_rotation_idx")
    ]
    direction = build.emit("Sub", ends[::-1])
    length = build.emit("ReduceL2", [direction], axes=[2], keepdims=1)
    direction = build.emit("Div", [direction, length])
    cos, sin = build.slice(direction, 2, 0, 1), build.slice(direction, 2, 1, 2)
    row0 = build.emit("Concat", [cos, sin], axis=2)
    row1 = build.emit("Concat", [build.emit("Neg", [sin]), cos], axis=2)
    rotation = build.emit("Concat", [row0, row1], axis=1)  # turns the eye or mouth line level
    if target:
        c, s = math.cos(target), math.sin(target)
        rotation = build.emit("MatMul", [build.const(np.array([[[c, -s], [s, c]]], np.float32)), rotation])
    inverse = build.emit("Transpose", [rotation], perm=[0, 2, 1])

    points = build.emit("Gather", [xy, build.const(np.array(subset, np.int64))], axis=1)
    points = build.emit("MatMul", [points, inverse])
    high = build.emit("ReduceMax", [points], axes=[1], keepdims=1)
    low = build.emit("ReduceMin", [points], axes=[1], keepdims=1)
    middle = build.emit("Mul", [build.emit("Add", [high, low]), build.const(np.float32(0.5))])
    middle = build.emit("MatMul", [middle, rotation])
    extent = build.emit("Mul", [build.emit("Sub", [high, low]), build.const(scale.reshape(1, 1, 2))])
    linear = build.emit("Mul", [inverse, extent])
    origin = build.emit("MatMul", [linear, build.const((-size / 2).reshape(1, 2, 1))])
    shift = build.emit("Add", [build.emit("Transpose", [middle], perm=[0, 2, 1]), origin])
    top = build.emit("Concat", [linear, build.const(np.zeros((1, 2, 1), np.float32)), shift], axis=2)
    bottom = build.const(np.array([[[0, 0, 1, 0], [0, 0, 0, 1]]], np.float32))
    build.emit("Concat", [top, bottom], build.name(op.outputs[0]), axis=1)


@operator("TransformTensorBilinear")
def _transformtensorbilinear(build: Builder, op: Op) -> None:
    """Sample a feature map bilinearly on a grid mapped by an affine matrix; zero outside."""
    if op.version != 2:
        raise UnsupportedError("TransformTensorBilinear v1")
    image, matrix = op.inputs
    _, height, width, _ = build.network.shapes[image]
    _, out_h, out_w, _ = build.network.shapes[op.outputs[0]]
    y, x = np.mgrid[0:out_h, 0:out_w].astype(np.float32) + 0.5
    grid = np.stack([x, y, np.zeros_like(x), np.ones_like(x)], -1).reshape(1, -1, 4)
    rows = build.emit("Transpose", [build.slice(build.value(matrix), 1, 0, 2)], perm=[0, 2, 1])
    coords = build.emit("MatMul", [build.const(grid), rows])
    to_unit = np.array([2 / (width - 1), 2 / (height - 1)], np.float32)
    coords = build.emit("Mul", [coords, build.const(to_unit)])
    coords = build.emit("Sub", [coords, build.const(to_unit * np.float32(0.5) + 1)])
    shape = build.const(np.array([1, out_h, out_w, 2], np.int64), "shape")
    coords = build.emit("Reshape", [coords, shape])
    inside = build.emit("LessOrEqual", [build.emit("Abs", [coords]), build.const(np.float32(1))])
    inside = build.emit("Cast", [inside], to=TensorProto.FLOAT)
    inside = build.emit("ReduceMin", [inside], axes=[3], keepdims=0)
    inside = build.emit("Reshape", [inside, build.const(np.array([1, 1, out_h, out_w], np.int64), "shape")])
    sampled = build.emit(
        "GridSample", [build.value(image), coords], mode="bilinear", padding_mode="zeros", align_corners=1
    )
    build.emit("Mul", [sampled, inside], build.name(op.outputs[0]))


@operator("TransformLandmarks")
def _transformlandmarks(build: Builder, op: Op) -> None:
    """Apply an affine matrix to 2-D points."""
    points, matrix = op.inputs
    if op.version != 2 or build.network.shapes[points][2] != 2:
        raise UnsupportedError("TransformLandmarks v1 or on 3-D points")
    rows = build.emit("Transpose", [build.slice(build.value(matrix), 1, 0, 2)], perm=[0, 2, 1])
    product = build.emit("MatMul", [build.value(points), build.slice(rows, 1, 0, 2)])
    build.emit("Add", [product, build.slice(rows, 1, 3, 4)], build.name(op.outputs[0]))


def merge_attention(build: Builder) -> list[Any]:
    """Put mesh, lips, eyes and irises together as MediaPipe's refinement does.

    x and y of lips and eye regions replace those of the mesh (z stays); irises are
    appended as 468..477 with the mean z of the 16 points round their eye.
    """
    lips, left, right = build.landmark_subsets
    mesh = build.reshape("output_mesh_identity", 1, 468, 3)
    xy, z = build.slice(mesh, 2, 0, 2), build.slice(mesh, 2, 2, 3)
    parts = [xy]
    source = np.arange(468)
    offset = 468
    for name, subset in (("output_lips", lips), ("output_left_eye", left), ("output_right_eye", right)):
        parts.append(build.reshape(name, 1, len(subset), 2))
        source[subset] = offset + np.arange(len(subset))
        offset += len(subset)
    parts += [build.reshape(f"output_{side}_iris", 1, 5, 2) for side in ("left", "right")]
    source = np.concatenate([source, offset + np.arange(10)])
    every = build.emit("Concat", parts, axis=1)
    xy = build.emit("Gather", [every, build.const(source.astype(np.int64))], axis=1)
    depths = [z]
    for subset in (left, right):
        ring = build.emit("Gather", [z, build.const(np.array(subset[:16], np.int64))], axis=1)
        mean = build.emit("ReduceMean", [ring], axes=[1], keepdims=1)
        depths.append(build.emit("Expand", [mean, build.const(np.array([1, 5, 1], np.int64), "shape")]))
    build.emit("Concat", [xy, build.emit("Concat", depths, axis=1)], "landmarks", axis=2)
    build.emit("Reshape", ["conv_faceflag", build.const(np.array([1, 1], np.int64), "shape")], "score_logit")
    return [
        helper.make_tensor_value_info("landmarks", TensorProto.FLOAT, [1, 478, 3]),
        helper.make_tensor_value_info("score_logit", TensorProto.FLOAT, [1, 1]),
    ]
