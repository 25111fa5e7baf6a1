"""Settings of the front ends, and how any declared setting becomes a flag or a stored value.

The engine declares its settings in `engine.config`; those here are the front ends' own, declared
the same way, so that one declaration feeds the flag, the stored file, the check and the panel.
"""

from __future__ import annotations

import argparse
import enum
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from engine.config import Checked, GuardConfig, GuardPolicy, Setting, setting, settings_of
from engine.errors import UsageError
from engine.sinks.split import Split

ConfigT = TypeVar("ConfigT")

OFF, DEFAULT = "off", "default"
"""No sound device, and the system's own."""


@dataclass(frozen=True)
class CameraConfig(Checked):
    """Which camera, and what is asked of it."""

    camera: str = setting("", "camera by name or number, `demo`, or a clip played as a camera")
    size: str = setting("1280x720", "picture size asked of the camera, WIDTHxHEIGHT")
    fps: float = setting(30.0, "frames per second asked of the camera", low=1.0, high=240.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_size(self.size)

    @property
    def pixels(self) -> tuple[int, int]:
        """`size` as (width, height)."""
        return parse_size(self.size)


@dataclass(frozen=True)
class OutputConfig(Checked):
    """Where the pictures go besides the window."""

    virtual_camera: bool = setting(False, "offer the picture as a camera to other programs")
    virtual_camera_name: str = setting("", "virtual camera by name, if there are several")
    virtual_camera_size: str = setting(
        "", "picture size of the virtual camera, WIDTHxHEIGHT; as the camera's if not given"
    )
    virtual_camera_fps: float = setting(
        0.0, "frames per second of the virtual camera; 0 for the camera's", low=0.0, high=120.0
    )
    browser: bool = setting(False, "serve the browser page and the control server to this computer")
    server_port: int = setting(7420, "port of the browser page and the control server", low=0, high=65535)
    vmc: bool = setting(False, "send head pose and expression to a VTuber program by the VMC protocol")
    vmc_host: str = setting("127.0.0.1", "where the VTuber program runs; 127.0.0.1 is this computer")
    vmc_port: int = setting(39539, "UDP port on which the VTuber program listens", low=1, high=65535)
    osc: bool = setting(False, "take panic and strength over OSC from this computer")
    osc_port: int = setting(9010, "UDP port on which OSC commands are taken", low=1, high=65535)
    tracking_only: bool = setting(False, "swap nothing and show nobody: only head pose and expression leave")
    recordings: str = setting("", "folder for recordings")
    split: str = setting(
        "", "go on in a new file when one is so long or large: 90s, 10min, 1h, 700MB, 2GB; never if not given"
    )
    encoder: str = setting(
        "", "H.264 encoder of recordings by FFmpeg's name; the best that works here if not given"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        Split.parse(self.split)
        if self.virtual_camera_size:
            parse_size(self.virtual_camera_size)

    @property
    def virtual_camera_pixels(self) -> tuple[int, int] | None:
        """`virtual_camera_size` as (width, height); None = as the camera's."""
        return parse_size(self.virtual_camera_size) if self.virtual_camera_size else None


def check_guard(guard: GuardConfig) -> None:
    """Raises `UsageError` if the guard is to show a picture, and there is none."""
    if guard.policy is GuardPolicy.PICTURE and not guard.picture:
        raise UsageError(
            "There is no picture to show instead of a face",
            "Choose one in the window, or give --guard-picture FILE",
        )


@dataclass(frozen=True)
class SoundConfig(Checked):
    """The voice. Microphone and monitor are a number, a name, `default` for the system's own, or `off`."""

    microphone: str = setting(OFF, "microphone of recordings and monitor, by name or number; default; off")
    monitor: str = setting(OFF, "sound output that plays the voice as late as the picture, likewise")
    shift_ms: float = setting(
        0.0, "put the voice later into recordings, for a camera that is late itself", low=-500.0, high=500.0,
        unit="ms",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.monitor != OFF and self.microphone == OFF:
            raise UsageError(
                "Without a microphone there is nothing to play", "Choose one: --microphone default"
            )


def parse_size(text: str) -> tuple[int, int]:
    """(width, height) of "WIDTHxHEIGHT".

    Raises:
        UsageError: it is none, or smaller than 64 or larger than 8192 pixels a side.
    """
    match = re.fullmatch(r"\s*(\d+)\s*[x×X*]\s*(\d+)\s*", text)
    if match and all(64 <= int(side) <= 8192 for side in match.groups()):
        return int(match[1]), int(match[2])
    raise UsageError(f"{text!r} is no picture size", "Give WIDTHxHEIGHT in pixels, such as 1280x720")


def add_flags(
    parser: argparse._ActionsContainer,
    kind: type,
    flags: Mapping[str, str],
    defaults: Mapping[str, Any] | None = None,
) -> None:
    """Declare one flag for each setting of `kind` named in `flags` (setting → flag).

    `defaults` replaces the declared ones where a command has reasons for others.
    """
    for one in settings_of(kind):
        if one.name not in flags:
            continue
        standing = (defaults or {}).get(one.name, one.default)
        default = standing.value if isinstance(standing, enum.Enum) else standing
        kinds: dict[str, Any] = (
            {"action": argparse.BooleanOptionalAction}
            if one.type is bool
            else {"type": _typed(one), "metavar": one.type.__name__.upper() if not one.choices else "WHICH"}
        )
        words = f": {', '.join(one.choices)}" if one.choices else ""
        standard = f" (default {default:g})" if isinstance(default, float) else f" (default {default})"
        parser.add_argument(
            flags[one.name],
            dest=_dest(kind, one.name),
            default=standing,
            help=f"{one.help}{words}{standard if default not in ('', False) else ''}".replace("%", "%%"),
            **kinds,
        )


def from_flags(kind: type[ConfigT], args: argparse.Namespace, **others: Any) -> ConfigT:
    """Make a configuration from what was given on the command line.

    Raises:
        UsageError: a value is outside its limits.
    """
    given = {
        one.name: getattr(args, _dest(kind, one.name))
        for one in settings_of(kind)
        if hasattr(args, _dest(kind, one.name))
    }
    return kind(**{**given, **others})


def to_stored(config: object) -> dict[str, Any]:
    """A configuration as plain JSON values."""
    values = {one.name: getattr(config, one.name) for one in settings_of(type(config))}
    return {name: value.value if isinstance(value, enum.Enum) else value for name, value in values.items()}


def from_stored(kind: type[ConfigT], stored: Mapping[str, Any]) -> tuple[ConfigT, list[str]]:
    """A configuration from stored values, and the names of those that had to be left at default."""
    good: dict[str, Any] = {}
    bad: list[str] = []
    for one in settings_of(kind):
        if one.name not in stored:
            continue
        try:
            value = one.type(stored[one.name]) if one.choices else stored[one.name]
            kind(**{**good, one.name: value})
        except (UsageError, ValueError, TypeError):
            bad.append(one.name)
        else:
            good[one.name] = value
    return kind(**good), bad


def _dest(kind: type, name: str) -> str:
    return f"{kind.__name__}.{name}"


def _typed(one: Setting) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            value = one.parse(text)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        if not one.accepts(value):
            raise argparse.ArgumentTypeError(f"{text} is not allowed; give {one.allowed}")
        return value

    return parse
