"""Microphones and outputs by name, and clear sentences where there are none."""

from __future__ import annotations

import builtins
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from engine.errors import DeviceError
from engine.sound.devices import find_microphone, list_microphones, list_speakers, portaudio, sound_errors
from engine.sound.microphone import Microphone


class PortAudioError(Exception):
    """As sounddevice's."""


def device(name: str, inputs: int, outputs: int) -> dict[str, Any]:
    return {
        "name": name, "max_input_channels": inputs, "max_output_channels": outputs,
        "default_samplerate": 44_100.0,
    }  # fmt: skip


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What PortAudio says on a Windows machine: everything once for each interface."""
    devices = [
        device("Headset Mic", 1, 0), device("Speakers", 0, 2),
        device("Headset Mic", 1, 0), device("Webcam Mic", 2, 0), device("Speakers", 0, 2),
        device("Cable", 0, 2),
    ]  # fmt: skip
    apis = (
        {"name": "MME", "devices": [0, 1], "default_input_device": 0, "default_output_device": 1},
        {"name": "Windows WASAPI", "devices": [2, 3, 4, 5], "default_input_device": 3,
         "default_output_device": 4},
    )  # fmt: skip
    said = SimpleNamespace(
        query_devices=lambda index: devices[index], query_hostapis=lambda: apis, PortAudioError=PortAudioError
    )
    monkeypatch.setitem(sys.modules, "sounddevice", said)


@pytest.mark.usefixtures("windows")
def test_each_device_is_listed_once() -> None:
    assert [(one.index, one.name, one.default) for one in list_microphones()] == [
        (2, "Headset Mic", False), (3, "Webcam Mic", True),
    ]  # fmt: skip
    assert [one.name for one in list_speakers()] == ["Speakers", "Cable"]


@pytest.mark.usefixtures("windows")
def test_finding() -> None:
    assert find_microphone().index == 3
    assert find_microphone("2").index == find_microphone("headset").index == 2
    with pytest.raises(DeviceError, match=r"no microphone 'phone'.*2 \(Headset Mic\)"):
        find_microphone("phone")
    with pytest.raises(DeviceError, match=r"Several.*by number"):
        find_microphone("mic")


@pytest.mark.usefixtures("windows")
def test_complaints_of_a_driver_become_a_sentence() -> None:
    sentence = r"The microphone X can't be opened: Device unavailable\. Close"
    with pytest.raises(DeviceError, match=sentence), sound_errors("The microphone X"):
        raise PortAudioError("Device unavailable\nmore")


def test_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with pytest.raises(DeviceError, match="pip install sounddevice"):
        portaudio()


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def no_library(name: str, *rest: Any) -> Any:
        if name == "sounddevice":
            raise OSError("PortAudio library not found")
        return original(name, *rest)

    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    monkeypatch.setattr(builtins, "__import__", no_library)
    with pytest.raises(DeviceError, match=r"PortAudio is not installed\. Run"):
        Microphone().open()


def test_a_machine_without_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = SimpleNamespace(
        query_hostapis=lambda: ({"name": "ALSA", "devices": [], "default_input_device": -1},)
    )
    monkeypatch.setitem(sys.modules, "sounddevice", nothing)
    with pytest.raises(DeviceError, match=r"No microphone was found\. Plug one in"):
        find_microphone()
