"""Is there a screen that a window can open on? Qt itself would abort the process to answer."""

from __future__ import annotations

import ctypes
import os
import re
import socket
import sys
from importlib.util import find_spec
from pathlib import Path

from engine.errors import DeviceError

_REMEDY = "Start Kawari in a desktop session, or use `kawari run` and `kawari live --headless`"


def require() -> None:
    """Raise `DeviceError` with the reason if no window can be opened here."""
    if not sys.platform.startswith("linux"):
        return  # Windows and macOS always have one, if only a session nobody looks at
    platform = os.environ.get("QT_QPA_PLATFORM", "").split(";")[0].split(":")[0]
    if platform not in ("", "xcb", "wayland"):
        return  # offscreen, vnc, eglfs … were asked for by name
    if platform != "xcb" and _wayland():
        return
    if platform == "wayland" or not _x11():
        raise DeviceError("There is no screen to open a window on", _REMEDY)
    _require_xcb_libraries()


def available() -> bool:
    """Whether a window can be opened here."""
    try:
        require()
    except DeviceError:
        return False
    return True


def forget_foreign_plugins() -> None:
    """Keep Qt away from the plugins that OpenCV's wheel brings and points Qt to on import.

    They belong to another Qt, and the window would not open. Call it before `QApplication`.
    """
    for name in ("QT_QPA_PLATFORM_PLUGIN_PATH", "QT_QPA_FONTDIR"):
        if "cv2" in Path(os.environ.get(name, "")).parts:
            del os.environ[name]


def _wayland() -> bool:
    name = os.environ.get("WAYLAND_DISPLAY")
    return bool(name) and _answers(Path(os.environ.get("XDG_RUNTIME_DIR", "/nowhere")) / str(name))


def _x11() -> bool:
    match = re.fullmatch(
        r"(?:(?P<host>[^:/]*)|unix|.*/unix):(?P<number>\d+)(?:\.\d+)?", os.environ.get("DISPLAY", "")
    )
    if match is None:
        return bool(os.environ.get("DISPLAY"))  # a form of its own (macOS's launchd sockets): let Qt try
    number = int(match["number"])
    if match["host"] in ("", "unix"):
        path = f"/tmp/.X11-unix/X{number}"  # noqa: S108 - where every X server puts it
        return _answers(Path(path)) or _answers(f"\0{path}")
    try:
        with socket.create_connection((match["host"], 6000 + number), timeout=2):
            return True
    except OSError:
        return False


def _answers(path: Path | str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2)
        try:
            client.connect(str(path))
        except OSError:
            return False
        return True


def _require_xcb_libraries() -> None:
    """Load Qt's X11 plugin as Qt would, to learn the name of a library that is missing."""
    spec = find_spec("PySide6")
    if spec is None or not spec.submodule_search_locations:
        return
    import PySide6.QtGui  # noqa: F401 - brings the Qt libraries the plugin links to

    plugin = Path(next(iter(spec.submodule_search_locations))) / "Qt/plugins/platforms/libqxcb.so"
    if not plugin.is_file():
        return  # a distribution's own Qt: its package brings the libraries
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        missing = str(error).split(":")[0]
        raise DeviceError(
            f"Qt can't open windows, the library {missing} is missing",
            "Install it, on Debian and Ubuntu with: sudo apt install libxcb-cursor0 libegl1",
        ) from error
