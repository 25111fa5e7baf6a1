"""What to do about a missing or unusable device, per system: one place for errors and `kawari doctor`."""

from __future__ import annotations

import sys

from engine.devices.camera import VirtualCameraState

LOOPBACK_INSTALL = "sudo apt install v4l2loopback-dkms"
LOOPBACK_LOAD = "sudo modprobe v4l2loopback devices=1 exclusive_caps=1 card_label=Kawari"

NO_CAMERA = 'Plug one in and allow this program to use it, or use the demo camera ("--camera demo")'
CAMERA_ACCESS = {
    "linux": "Add yourself to the video group (sudo usermod -aG video $USER) and log in again",
    "darwin": "Allow the camera in System Settings, Privacy & Security, Camera, and start again",
    "win32": "Allow desktop apps to use the camera in Settings, Privacy & security, Camera",
}


def _here(texts: dict[str, str], platform: str | None) -> str:
    return texts.get(platform or sys.platform, texts["linux"])


def camera_access(platform: str | None = None) -> str:
    """A camera is there, but the system does not let this program open it."""
    return _here(CAMERA_ACCESS, platform)


def camera_busy(platform: str | None = None) -> str:
    """A camera is in use by another program."""
    return _here(
        {
            "linux": "Close the program that uses it (fuser -v /dev/video* names it), or take another one",
            "darwin": "Close the program that uses it, or choose another camera",
            "win32": "Close the program that uses it (Teams, Zoom, a browser tab), or choose another camera",
        },
        platform,
    )


def no_virtual_camera(platform: str | None = None) -> str:
    """No virtual camera is installed."""
    return _here(
        {
            "linux": f"Run: {LOOPBACK_INSTALL} && {LOOPBACK_LOAD}",
            "darwin": "Install OBS Studio 30 or newer, start its virtual camera once, allow the extension in "
            "System Settings, stop it there, and start again",
            "win32": "Install OBS Studio (its virtual camera comes with it), and start again",
        },
        platform,
    )


def for_state(state: VirtualCameraState, platform: str | None = None) -> str:
    """A virtual camera is installed, but in this state."""
    if state is VirtualCameraState.BUSY:
        return _here(
            {
                "linux": "Stop that program's output (fuser -v /dev/video* names it), or add a device: sudo "
                "modprobe -r v4l2loopback && sudo modprobe v4l2loopback devices=2 exclusive_caps=1",
                "darwin": "Stop the virtual camera in OBS, then start again",
                "win32": "Stop the virtual camera in OBS, then start again",
            },
            platform,
        )
    if state is VirtualCameraState.NO_ACCESS:
        return _here(
            CAMERA_ACCESS | {"darwin": no_virtual_camera("darwin"), "win32": no_virtual_camera("win32")},
            platform,
        )
    if state is VirtualCameraState.STALE:
        return f"Load the driver again: sudo modprobe -r v4l2loopback && {LOOPBACK_LOAD}"
    return ""
