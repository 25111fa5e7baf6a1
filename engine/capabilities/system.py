"""Probes of the installation: Python, packages, models, folders, screen."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import tempfile
import tomllib

import models
from engine import folders
from engine.capabilities.probe import Probe, State
from engine.errors import ModelError
from engine.keystore import KeyStore

_INSTALL = "Install Kawari again with its dependencies"
_MIN_FREE = 1 << 30
# Import name and the distributions that may bring it.
_PACKAGES = {
    "numpy": ("numpy",),
    "cv2": ("opencv-python", "opencv-contrib-python", "opencv-python-headless"),
    "scipy": ("scipy",),
    "skimage": ("scikit-image",),
    "onnx": ("onnx",),
    "insightface": ("insightface",),
    "av": ("av",),
    "PIL": ("pillow",),
    "PySide6": ("PySide6-Essentials", "PySide6"),
    "pyvirtualcam": ("pyvirtualcam",),
    "platformdirs": ("platformdirs",),
    "psutil": ("psutil",),
    "tqdm": ("tqdm",),
    "requests": ("requests",),
    "cryptography": ("cryptography",),
    "keyring": ("keyring",),
}


def python() -> list[Probe]:
    """Version of Python and of the system."""
    detail = f"{platform.python_version()} on {platform.system()} {platform.release()} {platform.machine()}"
    return [Probe("python", State.OK, detail)]


def packages() -> list[Probe]:
    """Every package that Kawari needs, with its version."""
    missing, found = [], []
    for module, distributions in _PACKAGES.items():
        if importlib.util.find_spec(module) is None:
            missing.append(distributions[0])
            continue
        for distribution in distributions:
            try:
                found.append(f"{distribution} {importlib.metadata.version(distribution)}")
                break
            except importlib.metadata.PackageNotFoundError:
                continue
    if missing:
        return [Probe("packages", State.MISSING, f"not installed: {', '.join(missing)}", _INSTALL)]
    return [Probe("packages", State.OK, ", ".join(found))]


def embedded_models() -> list[Probe]:
    """The models that come with Kawari, compared with their checksums."""
    names = list(tomllib.loads((models.EMBEDDED / "index.toml").read_text(encoding="utf-8")))
    try:
        for name in names:
            models.embedded(name)
    except ModelError as error:
        return [Probe("embedded models", State.MISSING, error.message, error.remedy)]
    return [Probe("embedded models", State.OK, f"{len(names)} files verified")]


def data_folder() -> list[Probe]:
    """Can settings, identities and models be kept, and is there space? Creates nothing."""
    folder = folders.home()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        remedy = "Make it writable for you, or choose another one by setting KAWARI_HOME"
        return [Probe("data folder", State.MISSING, f"can't be written: {error.strerror}", remedy)]
    detail = f"writable, {free / (1 << 30):.1f} GiB free"
    if free < _MIN_FREE:
        return [Probe("data folder", State.WARNING, detail, "Free some space on that disk")]
    return [Probe("data folder", State.OK, detail)]


def key_store() -> list[Probe]:
    """Is there a key store, so that faces and private keys can be kept encrypted? Opens nothing."""
    found = KeyStore(folders.home()).available()
    if found.system:
        return [Probe("key store", State.OK, found.detail, optional=True)]
    detail = f"{found.detail}; prepared faces and keys are kept unencrypted, in files that only you can read"
    remedy = "Log in to a desktop (on Linux one with Secret Service, such as GNOME Keyring or KWallet)"
    return [Probe("key store", State.WARNING, detail, remedy, optional=True)]


def screen() -> list[Probe]:
    """Is there a screen for the window?"""
    if platform.system() != "Linux":
        return [Probe("screen", State.OK, platform.system(), optional=True)]
    for variable, kind in (("WAYLAND_DISPLAY", "Wayland"), ("DISPLAY", "X11")):
        if os.environ.get(variable):
            return [Probe("screen", State.OK, kind, optional=True)]
    detail, remedy = "none: the window can't open, the commands work", "Log in to a desktop to use the window"
    return [Probe("screen", State.MISSING, detail, remedy, optional=True)]
