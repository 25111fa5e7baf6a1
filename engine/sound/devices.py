"""Microphones and sound outputs of this computer, by PortAudio."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from engine.errors import DeviceError

_NO_LIBRARY = {
    "Linux": "Run: sudo apt install libportaudio2 (Fedora: sudo dnf install portaudio)",
}
# Windows shows every device once for each of its four interfaces; this is the newest that mixes
_PREFERRED = "Windows WASAPI"


@dataclass(frozen=True, slots=True)
class SoundDevice:
    """A microphone or an output.

    Attributes:
        index: PortAudio's number of it.
        name: as the system calls it.
        rate: samples per second that it is used at.
        default: what the system would take.
    """

    index: int
    name: str
    rate: float
    default: bool


def portaudio() -> Any:
    """The package sounddevice, with PortAudio loaded.

    Raises:
        DeviceError: the package or the library is missing.
    """
    try:
        import sounddevice
    except ImportError as error:
        raise DeviceError(
            "The package sounddevice is not installed", "Run: pip install sounddevice"
        ) from error
    except OSError as error:  # the package is there, the library is not
        remedy = _NO_LIBRARY.get(platform.system(), "Run: pip install --force-reinstall sounddevice")
        raise DeviceError("The sound library PortAudio is not installed", remedy) from error
    return sounddevice


def list_microphones() -> list[SoundDevice]:
    """What can be recorded from. Raises `DeviceError` if PortAudio is missing."""
    return _list("input")


def list_speakers() -> list[SoundDevice]:
    """What can be played to. Raises `DeviceError` if PortAudio is missing."""
    return _list("output")


def find_microphone(wanted: str = "") -> SoundDevice:
    """The microphone with this number or name (any unique part, case ignored); "" for the system's own.

    Raises:
        DeviceError: there is none, or the name fits several.
    """
    return _find(list_microphones(), wanted, "microphone")


def find_speaker(wanted: str = "") -> SoundDevice:
    """As `find_microphone`, for outputs."""
    return _find(list_speakers(), wanted, "sound output")


@contextmanager
def sound_errors(device: str) -> Iterator[None]:
    """Turns PortAudio's complaints about a device into a `DeviceError` that helps."""
    try:
        yield
    except portaudio().PortAudioError as error:
        words = str(error.args[0]).splitlines()[0] if error.args else "it does not answer"
        raise DeviceError(
            f"{device} can't be opened: {words}",
            "Close other programs that use it, allow Kawari to use it, or choose another one",
        ) from error


def _list(kind: str) -> list[SoundDevice]:
    pa = portaudio()
    apis = pa.query_hostapis()
    chosen = next((api for api in apis if api["name"] == _PREFERRED and api["devices"]), None)
    if chosen is None:
        used = [api for api in apis if api[f"default_{kind}_device"] >= 0]
        chosen = next(iter(used), None)
    if chosen is None:
        return []
    first = chosen[f"default_{kind}_device"]
    return [
        SoundDevice(index, found["name"], found["default_samplerate"], index == first)
        for index in chosen["devices"]
        if (found := pa.query_devices(index))[f"max_{kind}_channels"] > 0
    ]


def _find(devices: list[SoundDevice], wanted: str, what: str) -> SoundDevice:
    if not devices:
        raise DeviceError(f"No {what} was found", "Plug one in")
    if not wanted:
        return next((one for one in devices if one.default), devices[0])
    exact = [one for one in devices if wanted in (str(one.index), one.name)]
    found = exact or [one for one in devices if wanted.lower() in one.name.lower()]
    offered = ", ".join(f"{one.index} ({one.name})" for one in devices)
    if not found:
        raise DeviceError(f"There is no {what} {wanted!r}", f"Choose one of: {offered}")
    if len(found) > 1:
        raise DeviceError(f"Several are called {wanted!r}", f"Choose by number: {offered}")
    return found[0]
