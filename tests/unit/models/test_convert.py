"""The embedded models are what the converter makes of the pinned originals, to the byte."""

from __future__ import annotations

import hashlib
import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
from onnx import helper, load_from_string, numpy_helper

import models
from engine.errors import DeviceError, ModelError
from models.convert import canonical, fetch
from models.convert.__main__ import files, index
from models.convert.builder import Builder
from models.convert.operators import same_padding
from models.convert.reader import Network


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the originals are kept: KAWARI_MODEL_CACHE, or a folder for this run."""
    kept = os.environ.get("KAWARI_MODEL_CACHE")
    return Path(kept) if kept else tmp_path_factory.mktemp("originals")


def test_converting_again_gives_the_same_bytes(cache: Path) -> None:
    try:
        made = files(cache)
    except DeviceError as error:
        if os.environ.get("KAWARI_CI") == "1":
            raise
        pytest.skip(str(error))
    for name, file in made.items():
        assert (
            hashlib.sha256(file.data).hexdigest()
            == hashlib.sha256((models.EMBEDDED / name).read_bytes()).hexdigest()
        ), f"{name} differs from what the converter makes"
    assert (models.EMBEDDED / "index.toml").read_text(encoding="utf-8") == index(made)


def test_every_embedded_file_is_in_the_index_with_its_hash_and_licence() -> None:
    entries = tomllib.loads((models.EMBEDDED / "index.toml").read_text(encoding="utf-8"))
    present = {path.name for path in models.EMBEDDED.iterdir()} - {"index.toml", "NOTICE.md"}
    assert set(entries) == present
    notice = (models.EMBEDDED / "NOTICE.md").read_text(encoding="utf-8")
    for name, entry in entries.items():
        assert hashlib.sha256((models.EMBEDDED / name).read_bytes()).hexdigest() == entry["sha256"]
        assert entry["license"] == "Apache-2.0" and name in notice
        assert models.embedded(name).is_file()


def test_tampering_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in models.EMBEDDED.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    changed = bytearray((tmp_path / "face_landmark_468.onnx").read_bytes())
    changed[5000] ^= 1
    (tmp_path / "face_landmark_468.onnx").write_bytes(changed)
    (tmp_path / "canonical_face.npz").unlink()
    monkeypatch.setattr(models, "EMBEDDED", tmp_path)
    models.embedded.cache_clear()
    try:
        assert models.embedded("face_landmark_478.onnx").is_file()
        for name in ("face_landmark_468.onnx", "canonical_face.npz", "unknown.onnx"):
            with pytest.raises(ModelError):
                models.embedded(name)
    finally:
        models.embedded.cache_clear()


def test_another_original_is_refused(tmp_path: Path) -> None:
    (tmp_path / fetch.WHEEL).write_bytes(b"something else")
    with pytest.raises(ModelError, match="not the expected file"):
        fetch.wheel(tmp_path)


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "expected"),
    [(192, 3, 2, (0, 1)), (193, 3, 2, (1, 1)), (96, 3, 1, (1, 1)), (96, 5, 2, (1, 2)), (7, 1, 2, (0, 0))],
)
def test_same_padding(size: int, kernel: int, stride: int, expected: tuple[int, int]) -> None:
    assert same_padding(size, kernel, stride) == expected


def test_weights_that_float16_holds_are_stored_as_such_and_others_are_not() -> None:
    build = Builder(Network({}, {}, [], []))
    exact = np.arange(32, dtype=np.float32) / 8
    inexact = np.full(32, 0.1, np.float32)
    total = build.emit("Add", [build.const(exact), build.const(inexact)])
    build.emit("Add", [total, build.const(exact)], "sum")
    data = build.finish([], [helper.make_tensor_value_info("sum", 1, [32])], {})
    weights = [numpy_helper.to_array(each) for each in load_from_string(data).graph.initializer]
    assert sorted(str(each.dtype) for each in weights) == ["float16", "float32"]  # equal ones only once
    build.emit("Relu", ["sum"], "unused")
    assert data == build.finish([], [helper.make_tensor_value_info("sum", 1, [32])], {})


def test_the_canonical_face_is_read_from_a_packed_or_an_unpacked_message() -> None:
    def field(number: int, wire: int, payload: bytes) -> bytes:
        length = bytes([len(payload)]) if wire == 2 else b""
        return bytes([number << 3 | wire]) + length + payload

    point = np.arange(5, dtype="<f4")
    unpacked = b"".join(field(3, 5, value.tobytes()) for value in point)
    unpacked += b"".join(field(4, 0, bytes([value])) for value in (0, 2, 1))
    packed = field(3, 2, point.tobytes()) + field(4, 2, bytes([0, 2, 1]))
    basis = field(2, 2, field(1, 0, bytes([4])) + field(2, 5, np.float32(0.5).tobytes()))
    for mesh in (packed, unpacked):
        found = canonical.arrays(field(1, 2, mesh) + basis)
        assert found["vertices"].tolist() == [[0, 1, 2]] and found["uv"].tolist() == [[3, 4]]
        assert found["triangles"].tolist() == [[0, 2, 1]]
        assert found["basis"].tolist() == [4] and found["weights"].tolist() == [0.5]
