"""Kawari's realtime face-swap engine; what is importable from here is the SDK (docs/sdk.md)."""

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
from engine.dispatch import Route
from engine.errors import DeviceError, InputError, KawariError, ModelError, RefusedError, UsageError
from engine.events import Event
from engine.session import Session
from engine.state import FinishReason, State
from engine.stats import Stats
from engine.types import Detection, Face, Frame, Output, Patch, Shown
from engine.version import __version__

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
