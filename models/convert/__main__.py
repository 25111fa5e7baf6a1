"""`python -m models.convert [--cache FOLDER] [--output FOLDER]`: make `models/embedded/` anew."""

from __future__ import annotations

import argparse
import hashlib
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

from engine.errors import KawariError, ModelError
from models import EMBEDDED
from models.convert import canonical, fetch
from models.convert.networks import convert

_MODULES = "mediapipe/modules/"
_FULL_RANGE = "2c3728e6da56f21e21a320433396fb06d40d9088f2247c05e5635a688d45dfe1"
_MESH = "1055cb9d4a9ca8b8c688902a3a5194311138ba256bcc94e336d8373a5f30c814"
_ATTENTION = "e06a804e0144f9929eda782122916b35d60c697c3c9344013ca2bbe76a6ce2b4"
_FACE = "bdbcda96dfcb7da883da124aaa2c55dee49770d934f0fcc71747f8c21bdc75b4"
NETWORKS = {
    "face_detector_full_range.onnx": (
        "face_detection/face_detection_full_range_sparse.tflite",
        _FULL_RANGE,
    ),
    "face_landmark_468.onnx": ("face_landmark/face_landmark.tflite", _MESH),
    "face_landmark_478.onnx": ("face_landmark/face_landmark_with_attention.tflite", _ATTENTION),
}
"""Embedded file → its original in the wheel, and that one's SHA-256."""


class Made(NamedTuple):
    """An embedded file, where its original is from, and the original's SHA-256."""

    data: bytes
    source: str
    source_sha256: str


def files(cache: Path) -> dict[str, Made]:
    """Every embedded file by name.

    Args:
        cache: where the two packages are kept (43 MB).

    Raises:
        KawariError: they can't be fetched, or are not the expected ones.
    """
    made = {}
    with fetch.wheel(cache) as wheel:
        for name, (member, sha256) in NETWORKS.items():
            data = fetch.check(member, wheel.read(_MODULES + member), sha256)
            source = f"PyPI mediapipe==0.10.21, {_MODULES}{member}"
            notes = {"source": source, "source_sha256": sha256, "license": "Apache-2.0"}
            made[name] = Made(convert(data, notes, merge="478" in name), source, sha256)
    with fetch.package(cache) as package:
        assets = _member(package, "face_mesh_solution_packed_assets.data")
        loader = _member(package, "face_mesh_solution_packed_assets_loader.js").decode()
    metadata = fetch.check(canonical.FILE, canonical.unpack(loader, assets), _FACE)
    source = f"npm @mediapipe/face_mesh@0.4.1657299874, {canonical.FILE}"
    made["canonical_face.npz"] = Made(canonical.packed(canonical.arrays(metadata)), source, _FACE)
    return made


def _member(package: tarfile.TarFile, name: str) -> bytes:
    file = package.extractfile("package/" + name)
    if file is None:
        raise ModelError(f"{fetch.PACKAGE} has no {name}")
    return file.read()


def index(made: dict[str, Made]) -> str:
    """The text of `index.toml`."""
    entries = [
        f'["{name}"]\n'
        f'sha256 = "{hashlib.sha256(file.data).hexdigest()}"\n'
        f'source = "{file.source}"\n'
        f'source_sha256 = "{file.source_sha256}"\n'
        'license = "Apache-2.0"\n'
        for name, file in made.items()
    ]
    return "\n".join(["# Written by `python -m models.convert`.", *entries])


def main() -> int:
    """Write the files, say what changed."""
    parser = argparse.ArgumentParser(prog="python -m models.convert", description=__doc__)
    parser.add_argument("--cache", type=Path, help="keep the fetched packages here")
    parser.add_argument("--output", type=Path, default=EMBEDDED)
    args = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            made = files(args.cache or Path(folder))
    except KawariError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return error.exit_code
    args.output.mkdir(parents=True, exist_ok=True)
    for name, file in made.items():
        (args.output / name).write_bytes(file.data)
    (args.output / "index.toml").write_text(index(made), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
