"""Kawari's realtime face-swap engine; what is importable from here is the SDK (docs/sdk.md).

Names that need OpenCV or ONNX Runtime are imported when they are first used (PEP 562): the
virtual-camera worker, `kawari --help` and the like live in this package too and must start at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from engine.errors import DeviceError, InputError, KawariError, ModelError, RefusedError, UsageError
from engine.types import Detection, Face, Frame, Output, Patch, Shown
from engine.version import __version__

if TYPE_CHECKING:
    from engine.buffers import Policy
    from engine.config import (
        DelayConfig,
        GuardConfig,
        GuardPolicy,
        HealthConfig,
        SessionConfig,
        SwapConfig,
        Who,
    )
    from engine.events import Event
    from engine.live.dispatch import Route
    from engine.live.session import Session
    from engine.live.state import FinishReason, State
    from engine.live.stats import Stats

_LAZY = {
    "buffers": ("Policy",),
    "config": (
        "DelayConfig",
        "GuardConfig",
        "GuardPolicy",
        "HealthConfig",
        "SessionConfig",
        "SwapConfig",
        "Who",
    ),
    "live.dispatch": ("Route",),
    "events": ("Event",),
    "live.session": ("Session",),
    "live.state": ("FinishReason", "State"),
    "live.stats": ("Stats",),
}

__all__ = [
    "DelayConfig",
    "Detection",
    "DeviceError",
    "Event",
    "Face",
    "FinishReason",
    "Frame",
    "GuardConfig",
    "GuardPolicy",
    "HealthConfig",
    "InputError",
    "KawariError",
    "ModelError",
    "Output",
    "Patch",
    "Policy",
    "RefusedError",
    "Route",
    "Session",
    "SessionConfig",
    "Shown",
    "State",
    "Stats",
    "SwapConfig",
    "UsageError",
    "Who",
    "__version__",
]


def __getattr__(name: str) -> Any:
    for module, names in _LAZY.items():
        if name in names:
            return getattr(import_module(f"engine.{module}"), name)
    raise AttributeError(f"module 'engine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
