"""Fetches the pinned packages that hold the originals, through pip and npm."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from engine.errors import DeviceError, ModelError

WHEEL = "mediapipe-0.10.21-cp311-cp311-manylinux_2_28_x86_64.whl"
WHEEL_SHA256 = "05dc4a9e593655a79558d05d6227d31018c2537a4bd3362b51e230cf22aecfe3"
"""The last one that carries all TFLite networks; newer ones carry none."""
PACKAGE = "mediapipe-face_mesh-0.4.1657299874.tgz"
PACKAGE_SHA256 = "c08a7e0742a326285da666cf81d77c8b6f3a181a2ee948cadaf166008e0d3bc7"


def wheel(folder: Path) -> zipfile.ZipFile:
    """mediapipe 0.10.21 from the Python package index, kept in `folder`.

    Raises:
        DeviceError: the index can't be reached.
        ModelError: it gave another file.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    target = ["--platform", "manylinux_2_28_x86_64", "--python-version", "3.11", "--dest", str(folder)]
    _get(folder / WHEEL, WHEEL_SHA256, [*command, *target, "mediapipe==0.10.21"], folder)
    return zipfile.ZipFile(folder / WHEEL)


def package(folder: Path) -> tarfile.TarFile:
    """@mediapipe/face_mesh 0.4.1657299874 from npm, kept in `folder`.

    Raises:
        DeviceError: npm is missing or can't reach its registry.
        ModelError: it gave another file.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise DeviceError("npm is missing", "Install Node.js, or put the package into the folder by hand")
    _get(folder / PACKAGE, PACKAGE_SHA256, [npm, "pack", "@mediapipe/face_mesh@0.4.1657299874"], folder)
    return tarfile.open(folder / PACKAGE)


def _get(path: Path, sha256: str, command: list[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode or not path.is_file():
            reason = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise DeviceError(f"{path.name} can't be fetched: {' '.join(reason)}", "Check the network")
    check(path.name, path.read_bytes(), sha256)


def check(name: str, data: bytes, sha256: str) -> bytes:
    """The data, if its SHA-256 is the expected one; raises `ModelError` if not."""
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise ModelError(f"{name} is not the expected file: its SHA-256 is {found}", "Delete it, try again")
    return data
