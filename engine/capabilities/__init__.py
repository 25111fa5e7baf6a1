"""What this machine can do for Kawari, what it can't, why, and what would help: `kawari doctor`."""

from engine.capabilities.doctor import PROBES, examine
from engine.capabilities.encoders import Encoder, h264_encoders
from engine.capabilities.probe import Probe, State

__all__ = ["PROBES", "Encoder", "Probe", "State", "examine", "h264_encoders"]
