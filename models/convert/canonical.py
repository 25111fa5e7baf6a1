"""MediaPipe's canonical face: its shape, texture coordinates, triangles and pose weights.

It lies as `geometry_pipeline_metadata_landmarks.binarypb` (a protocol buffer,
`mediapipe/modules/face_geometry/protos/geometry_pipeline_metadata.proto`) among the packed files
of the npm package. Only the few fields needed are read, so no protobuf package is.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Iterator

import numpy as np

from models.convert.reader import Array

FILE = "geometry_pipeline_metadata_landmarks.binarypb"
_VARINT, _BYTES, _FLOAT = 0, 2, 5


def unpack(loader: str, data: bytes) -> bytes:
    """The metadata file out of Emscripten's packed assets, whose loader says where it starts and ends."""
    for entry in re.findall(r"\{[^{}]*\}", loader):
        if FILE in entry:
            start = re.search(r'"?start"?\s*:\s*(\d+)', entry)
            end = re.search(r'"?end"?\s*:\s*(\d+)', entry)
            if start and end:
                return data[int(start[1]) : int(end[1])]
    raise ValueError(f"{FILE} is not among the packed assets")


def arrays(metadata: bytes) -> dict[str, Array]:
    """What `models/embedded/canonical_face.npz` holds.

    Returns:
        vertices float32 (468, 3), cm, y up, z towards the camera; uv float32 (468, 2); triangles
        int16 (898, 3); basis int16 (33,) and weights float32 (33,), the landmarks that fix the pose.
    """
    vertices: list[Array] = []
    triangles: list[int] = []
    basis, weights = [], []
    for number, value in _fields(metadata):
        if number == 1 and isinstance(value, bytes):  # canonical_mesh
            for field, item in _fields(value):
                if field == 3 and isinstance(item, bytes):
                    vertices.append(np.frombuffer(item, "<f4"))
                elif field == 3:
                    vertices.append(np.array([item], np.float32))
                elif field == 4:
                    triangles.extend(_varints(item) if isinstance(item, bytes) else [int(item)])
        elif number == 2 and isinstance(value, bytes):  # procrustes_landmark_basis
            pair = dict(_fields(value))
            basis.append(int(pair.get(1, 0)))
            weights.append(pair[2])
    table = np.concatenate(vertices).reshape(-1, 5)
    return {
        "vertices": table[:, :3],
        "uv": table[:, 3:],
        "triangles": np.array(triangles, np.int16).reshape(-1, 3),
        "basis": np.array(basis, np.int16),
        "weights": np.array(weights, np.float32),
    }


def packed(values: dict[str, Array]) -> bytes:
    """The arrays as an uncompressed .npz, the same to the byte with every version and system."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, value in values.items():
            entry = zipfile.ZipInfo(name + ".npy")
            entry.create_system = 3
            array = io.BytesIO()
            np.lib.format.write_array(array, np.ascontiguousarray(value), version=(1, 0))
            archive.writestr(entry, array.getvalue())
    return buffer.getvalue()


def _fields(data: bytes) -> Iterator[tuple[int, bytes | float]]:
    """Number and value of each field of a protocol-buffer message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
        elif wire == _FLOAT:
            yield number, struct.unpack_from("<f", data, at)[0]
            at += 4
        elif wire == _BYTES:
            length, at = _varint(data, at)
            yield number, data[at : at + length]
            at += length
        else:
            raise ValueError(f"wire type {wire} is not expected here")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _varints(data: bytes) -> list[int]:
    values, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        values.append(value)
    return values
