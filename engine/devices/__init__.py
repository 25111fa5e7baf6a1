"""Cameras to read from and virtual cameras to write to, on all three systems.

Light on purpose: the virtual-camera worker imports from here, so nothing at module level needs more
than the standard library.
"""

from engine.devices.camera import Camera, CameraFormat, VirtualCameraDevice, VirtualCameraState
from engine.devices.listing import (
    explain,
    find_camera,
    find_virtual_camera,
    list_cameras,
    list_virtual_cameras,
    present,
)

__all__ = [
    "Camera",
    "CameraFormat",
    "VirtualCameraDevice",
    "VirtualCameraState",
    "explain",
    "find_camera",
    "find_virtual_camera",
    "list_cameras",
    "list_virtual_cameras",
    "present",
]
