"""Probes of what pictures and sound come from and go to."""

from __future__ import annotations

import importlib.util
import os

from engine.capabilities.encoders import Encoder, h264_encoders
from engine.capabilities.probe import Probe, State
from engine.devices import Camera, list_cameras, list_virtual_cameras, remedies
from engine.errors import DeviceError
from engine.sound.devices import find_microphone


def cameras() -> list[Probe]:
    """Each camera."""
    found = list_cameras()
    if not found:
        return [Probe("camera", State.MISSING, "none found", remedies.NO_CAMERA, optional=True)]
    return [_camera(camera) for camera in found]


def _camera(camera: Camera) -> Probe:
    name = f"camera {camera.index}"
    if camera.path.startswith("/dev/") and not os.access(camera.path, os.R_OK | os.W_OK):
        return Probe(name, State.WARNING, f"{camera.name} may not be opened", remedies.camera_access(), True)
    largest = f", up to {camera.sizes[-1][0]}x{camera.sizes[-1][1]}" if camera.sizes else ""
    return Probe(name, State.OK, camera.name + largest, optional=True)


def virtual_cameras() -> list[Probe]:
    """Each virtual camera that could be fed."""
    if importlib.util.find_spec("pyvirtualcam") is None:
        detail, remedy = "the package pyvirtualcam is not installed", "Run: pip install pyvirtualcam"
        return [Probe("virtual camera", State.MISSING, detail, remedy, optional=True)]
    found = list_virtual_cameras()
    if not found:
        remedy = remedies.no_virtual_camera()
        return [Probe("virtual camera", State.MISSING, "none installed", remedy, optional=True)]
    return [
        Probe(
            "virtual camera",
            State.OK if one.usable and not one.detail else State.WARNING if one.usable else State.MISSING,
            f"{one.name} ({one.path})" + (f": {one.detail}" if one.detail else ""),
            "" if one.usable else remedies.for_state(one.state),
            optional=True,
        )
        for one in found
    ]


def encoders() -> list[Probe]:
    """H.264 encoders, each tried on one picture."""
    found = list(h264_encoders())
    if all(encoder.trouble for encoder in found):
        return [
            Probe("encoder", State.MISSING, "no H.264 encoder opens", "Run: pip install --force-reinstall av")
        ]
    return [
        Probe(
            f"encoder {encoder.name}",
            State.MISSING if encoder.trouble else State.OK,
            _encoder(encoder),
            optional=bool(encoder.maker),
        )
        for encoder in found
    ]


def _encoder(encoder: Encoder) -> str:
    where = f"{encoder.maker} hardware" if encoder.maker else "on the CPU"
    return f"{where}, does not open here ({encoder.trouble})" if encoder.trouble else where


def microphone() -> list[Probe]:
    """Is there a microphone to record?"""
    try:
        found = find_microphone()
    except DeviceError as error:
        detail = f"{error.message}: live recordings have no sound"
        return [Probe("microphone", State.MISSING, detail, error.remedy, optional=True)]
    return [Probe("microphone", State.OK, found.name, optional=True)]
