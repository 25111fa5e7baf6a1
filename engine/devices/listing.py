"""Finding cameras and virtual cameras."""

from __future__ import annotations

import errno
import os
import platform
from pathlib import Path

from engine.devices import remedies
from engine.devices.camera import Camera, VirtualCameraDevice, VirtualCameraState
from engine.errors import DeviceError

_LINUX = platform.system() == "Linux"
_SYS = Path("/sys/class/video4linux")
# Virtual cameras that pyvirtualcam can feed, by the name under which every program sees them.
_KNOWN = {"OBS Virtual Camera": "obs", "Unity Video Capture": "unitycapture"}
_VIRTUAL_WORDS = ("virtual", "kawari", "unity video capture", "ndi webcam", "snap camera", "manycam")


def list_cameras(*, include_virtual: bool = False) -> list[Camera]:
    """The cameras of this machine, by index.

    Virtual cameras (Kawari's own output would show a picture of itself) are left out unless asked
    for. A camera that this user may not open is listed without formats.
    """
    cameras = _linux_cameras() if _LINUX else _opencv_cameras()
    return [camera for camera in cameras if include_virtual or not camera.is_virtual]


def find_camera(wanted: str | int | None = None) -> Camera:
    """The camera with this index, name or path (names: any unique part, case ignored); None = the first.

    Virtual cameras are never taken by themselves, but one that is named in full may be meant: a phone's
    picture comes through v4l2loopback, too, and a scene through OBS's.

    Raises:
        DeviceError: there is none, or the name fits several.
    """
    everything, text = list_cameras(include_virtual=True), str(wanted)
    cameras = [c for c in everything if not c.is_virtual]
    exact = [c for c in cameras if text == str(c.index)]
    exact = exact or [c for c in everything if text in (c.name, c.path)]
    if not cameras and not exact:
        raise DeviceError("No camera was found", remedies.NO_CAMERA)
    if wanted is None:
        return cameras[0]
    found = exact or [c for c in cameras if text.lower() in c.name.lower()]
    offered = ", ".join(f"{c.index} ({c.name})" for c in cameras)
    if not found:
        raise DeviceError(f"There is no camera {text!r}", f"Choose one of: {offered}")
    if len(found) > 1:
        raise DeviceError(f"Several cameras are called {text!r}", f"Choose by index: {offered}")
    return found[0]


def present() -> tuple[str, ...]:
    """What is plugged in, as names that only serve to be compared: cheap, opens nothing, for polling."""
    if _LINUX:
        return tuple(f"{path} {name}" for _, name, path in _linux_nodes())
    return tuple(f"{camera.path} {camera.name}" for camera in _opencv_cameras())


def explain(camera: Camera) -> DeviceError:
    """Why a camera that could not be opened, or gives no pictures, does not work."""
    if _LINUX and camera.path:
        from engine.devices import v4l2

        try:
            if v4l2.is_capturing(camera.path):
                message = f"The camera {camera.name} is used by another program"
                return DeviceError(message, remedies.camera_busy())
        except PermissionError:
            return DeviceError(f"The camera {camera.name} may not be opened", remedies.camera_access())
        except OSError as error:
            if error.errno == errno.EBUSY:
                message = f"The camera {camera.name} is used by another program"
                return DeviceError(message, remedies.camera_busy())
            return DeviceError(f"The camera {camera.name} was unplugged", "Plug it in again")
        return DeviceError(f"The camera {camera.name} gives no pictures", "Unplug it and plug it in again")
    if not _LINUX and camera not in _opencv_cameras():
        return DeviceError(f"The camera {camera.name} was unplugged", "Plug it in again")
    return DeviceError(
        f"The camera {camera.name} can't be opened, perhaps because another program uses it",
        f"{remedies.camera_busy()}. {remedies.camera_access()}",
    )


def list_virtual_cameras() -> list[VirtualCameraDevice]:
    """The virtual cameras that Kawari could feed, usable or not."""
    if _LINUX:
        return _loopbacks()
    return [
        VirtualCameraDevice(name, backend, name)
        for name, backend in _KNOWN.items()
        if any(camera.name == name for camera in _opencv_cameras())
    ]


def find_virtual_camera(wanted: str | None = None) -> VirtualCameraDevice:
    """The virtual camera with this name or path; None = the first usable one, "Kawari" preferred.

    Raises:
        DeviceError: none is installed, none has that name, or it can't be used; says why and what to do.
    """
    devices = list_virtual_cameras()
    if not devices:
        raise DeviceError("No virtual camera is installed", remedies.no_virtual_camera())
    if wanted is not None:
        named = [d for d in devices if wanted in (d.name, d.path)]
        if not named:
            offered = ", ".join(f"{d.path} ({d.name})" for d in devices)
            raise DeviceError(f"There is no virtual camera {wanted!r}", f"Choose one of: {offered}")
        devices = named
    usable = [d for d in devices if d.usable]
    if not usable:
        first = devices[0]
        raise DeviceError(
            f"The virtual camera {first.name} can't be used: {first.detail}", remedies.for_state(first.state)
        )
    return min(usable, key=lambda d: "kawari" not in d.name.lower())


def _linux_nodes() -> list[tuple[int, str, str]]:
    """Index, name and path of each video device file, by index."""
    nodes = []
    for entry in _SYS.glob("video*"):
        path = f"/dev/{entry.name}"
        if entry.name[5:].isdigit() and Path(path).exists():
            nodes.append((int(entry.name[5:]), (entry / "name").read_text().strip(), path))
    return sorted(nodes)


def _linux_cameras() -> list[Camera]:
    from engine.devices import loopback, v4l2

    cameras = []
    for index, name, path in _linux_nodes():
        try:
            with v4l2.opened(path) as descriptor:
                ask = v4l2.query(descriptor)
                driver, card, bits = v4l2.capability(ask)
                if not bits & v4l2.CAP_VIDEO_CAPTURE:
                    continue
                virtual = driver == loopback.DRIVER
                formats = v4l2.formats(ask)
        except OSError as error:
            if error.errno in (errno.ENODEV, errno.ENXIO, errno.ENOENT):  # unplugged meanwhile
                continue
            card, formats, virtual = name, (), _sounds_virtual(name)
        cameras.append(Camera(index, card or name, path, _cap("CAP_V4L2"), formats, virtual))
    return cameras


def _loopbacks() -> list[VirtualCameraDevice]:
    from engine.devices import loopback, v4l2

    found = []
    for _, name, path in _linux_nodes():
        state, detail = VirtualCameraState.READY, ""
        try:
            with v4l2.opened(path, os.O_WRONLY) as descriptor:
                driver, card, bits = v4l2.capability(v4l2.query(descriptor))
            if driver != loopback.DRIVER:
                continue
            name = card or name
            if loopback.is_fed(path, bits):
                state, detail = VirtualCameraState.BUSY, "another program sends pictures to it"
            elif not bits & v4l2.CAP_VIDEO_OUTPUT:
                state, detail = VirtualCameraState.STALE, "its last writer left it closed for writing"
            elif bits & v4l2.CAP_VIDEO_CAPTURE:
                detail = "loaded without exclusive_caps=1, so browsers won't offer it"
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM) or not _is_loopback_node(path):
                continue
            state, detail = VirtualCameraState.NO_ACCESS, "this user may not open it"
        found.append(VirtualCameraDevice(name, "v4l2loopback", path, state, detail))
    return found


def _is_loopback_node(path: str) -> bool:
    """v4l2loopback gives its devices in sysfs an attribute that no other driver has."""
    return (_SYS / Path(path).name / "max_openers").exists()


def _opencv_cameras() -> list[Camera]:
    # MIT, pure Python on macOS and one small extension on Windows: OpenCV itself names no device.
    from cv2_enumerate_cameras import enumerate_cameras

    backend = _cap("CAP_DSHOW" if platform.system() == "Windows" else "CAP_AVFOUNDATION")
    return [
        Camera(c.index, c.name, c.path or "", backend, (), _sounds_virtual(c.name))
        for c in enumerate_cameras(backend)
    ]


def _sounds_virtual(name: str) -> bool:
    return any(word in name.lower() for word in _VIRTUAL_WORDS)


def _cap(name: str) -> int:
    """OpenCV's number of a capture backend, without importing OpenCV (`videoio.hpp`, stable since 3.0)."""
    return {"CAP_V4L2": 200, "CAP_DSHOW": 700, "CAP_AVFOUNDATION": 1200}[name]
