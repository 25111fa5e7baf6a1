"""Kawari's realtime face-swap engine; what is importable from here is the SDK (docs/sdk.md)."""

from engine.errors import DeviceError, InputError, KawariError, ModelError, RefusedError, UsageError
from engine.types import Detection, Face, Frame, Output, Patch, Shown
from engine.version import __version__

__all__ = [
    "Detection",
    "DeviceError",
    "Face",
    "Frame",
    "InputError",
    "KawariError",
    "ModelError",
    "Output",
    "Patch",
    "RefusedError",
    "Shown",
    "UsageError",
    "__version__",
]
