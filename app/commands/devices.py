"""`kawari devices`: cameras, virtual cameras, microphones, sound outputs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from app.console import print_json, print_table, say
from engine.errors import DeviceError

if TYPE_CHECKING:
    from engine.devices import Camera
    from engine.sound.devices import SoundDevice


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    text = "list cameras, virtual cameras, microphones and sound outputs"
    parser = subparsers.add_parser("devices", help=text, description=text)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """List what is there."""
    from engine.devices import list_cameras, list_virtual_cameras, remedies

    cameras, outputs = list_cameras(), list_virtual_cameras()
    microphones, speakers, trouble = _sound()
    if args.json:
        print_json(
            {
                "cameras": cameras,
                "virtual_cameras": outputs,
                "microphones": microphones,
                "sound_outputs": speakers,
            }
        )
        return 0
    say("Cameras")
    print_table(((camera.index, camera.name, _formats(camera)) for camera in cameras), "  ")
    print_table([("demo", "Demo camera", "built in")], "  ")
    say("Virtual cameras")
    print_table(((one.path, one.name, one.detail or one.state.value) for one in outputs), "  ")
    if not outputs:
        say(f"  none; {remedies.no_virtual_camera()}")
    for title, found in (("Microphones", microphones), ("Sound outputs", speakers)):
        say(title)
        print_table(((one.index, one.name, "default" if one.default else "") for one in found), "  ")
        if not found:
            say(f"  none; {trouble or 'plug one in'}")
    return 0


def _sound() -> tuple[list[SoundDevice], list[SoundDevice], str]:
    """Microphones, outputs, and why there can't be any."""
    from engine.sound.devices import list_microphones, list_speakers

    try:
        return list_microphones(), list_speakers(), ""
    except DeviceError as error:
        return [], [], f"{error.message}. {error.remedy}"


def _formats(camera: Camera) -> str:
    if not camera.sizes:
        return ""
    best = []
    for width, height in camera.sizes[-3:]:
        rates = camera.rates(width, height)
        best.append(f"{width}x{height}" + (f"@{rates[0]:g}" if rates else ""))
    return ", ".join(reversed(best))
