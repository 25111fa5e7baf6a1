"""`kawari live`: a camera in, the same with the other face to the window, a virtual camera, a file."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from app import screen
from app.commands.arguments import add_swap_flags, positive, read_photos, swap_config
from app.console import StatusLine, note, say, write_json
from app.options import CameraConfig, OutputConfig, SoundConfig, add_flags, from_flags
from engine.config import BadgeConfig, DelayConfig, GuardConfig, NeuralConfig
from engine.errors import UsageError

if TYPE_CHECKING:
    from app.desk import LiveDesk
    from engine.events import Event

_POLL_S = 0.5
_SERVER, _OSC = OutputConfig.server_port, OutputConfig.osc_port
_VMC = (OutputConfig.vmc_host, OutputConfig.vmc_port)
_TOLD = {
    "camera-lost", "camera-back", "sink-failed", "stage-failed", "engine-restart", "swapper-fallback",
    "swapper-ready", "detector-fallback", "extra-failed",
}  # fmt: skip


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    text = "swap the face in a camera's picture, live"
    parser = subparsers.add_parser("live", help=text, description=text)
    add_swap_flags(parser, source_required=False)
    camera = parser.add_argument_group("the camera")
    add_flags(camera, CameraConfig, {"camera": "--camera", "size": "--size", "fps": "--fps"})
    add_flags(camera, DelayConfig, {"budget_ms": "--delay"})
    outputs = parser.add_argument_group("the outputs")
    outputs.add_argument(
        "--virtual-camera", nargs="?", const="", metavar="NAME",
        help="offer the picture as a camera to other programs; NAME if there are several",
    )  # fmt: skip
    add_flags(
        outputs, OutputConfig,
        {"virtual_camera_size": "--virtual-camera-size", "virtual_camera_fps": "--virtual-camera-fps"},
    )  # fmt: skip
    outputs.add_argument("--record", type=Path, metavar="FILE", help="record to a video file")
    add_flags(outputs, OutputConfig, {"split": "--split", "encoder": "--encoder"})
    sound = {"microphone": "--microphone", "monitor": "--monitor", "shift_ms": "--sound-shift"}
    add_flags(outputs, SoundConfig, sound)
    outputs.add_argument(
        "--vmc", nargs="?", const=_VMC, type=_address, metavar="HOST:PORT",
        help=f"send pose and expression to a VTuber program (default {_VMC[0]}:{_VMC[1]})",
    )  # fmt: skip
    outputs.add_argument("--headless", action="store_true", help="open no window")
    outputs.add_argument("--seconds", type=positive, metavar="N", help="stop by itself after so long")
    outputs.add_argument("--stats", type=Path, metavar="FILE", help="write all figures as JSON at the end")
    tracking = parser.add_argument_group("tracking only")
    tracking.add_argument(
        "--tracking-only", action="store_true",
        help="swap nothing and show nobody: only head pose and expression leave, see --vmc (no window)",
    )  # fmt: skip
    tracking.add_argument(
        "--picture", choices=("card", "blur"), default="card",
        help="the picture meanwhile: a card, or the camera's blurred beyond recognition (default card)",
    )  # fmt: skip
    control = parser.add_argument_group("control by other programs, see docs/control.md")
    control.add_argument(
        "--server", nargs="?", const=_SERVER, type=_port, metavar="PORT",
        help=f"serve a page for OBS's Browser source, and control, to this computer (default {_SERVER})",
    )  # fmt: skip
    control.add_argument(
        "--osc", nargs="?", const=_OSC, type=_port, metavar="PORT",
        help=f"take panic and strength over OSC from this computer (default {_OSC})",
    )  # fmt: skip
    control.add_argument(
        "--other", nargs="+", action="append", metavar="PHOTO",
        help="photos of another person, to switch to while it runs; may be repeated",
    )  # fmt: skip
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Run until it is stopped, the time is over, or the source ends."""
    for path in (args.record, args.stats):
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(f"There is no folder {path.parent}", "Create it first")
    if args.headless or args.tracking_only:
        return _headless(args)
    return _window(args)


def _window(args: argparse.Namespace) -> int:
    screen.require()
    from app.gui.application import Launch, open_window
    from app.gui.settings import Settings
    from engine.identity.library import IdentityLibrary

    faces = [args.source or (), *(args.other or ())]
    for photos in faces:  # complains here, and records the consent
        read_photos(argparse.Namespace(**{**vars(args), "source": photos}), IdentityLibrary())
    settings = Settings(
        swap=swap_config(args),
        neural=from_flags(NeuralConfig, args),
        guard=from_flags(GuardConfig, args),
        badge=from_flags(BadgeConfig, args),
        delay=from_flags(DelayConfig, args),
        camera=from_flags(CameraConfig, args),
        output=from_flags(
            OutputConfig,
            args,
            virtual_camera=args.virtual_camera is not None,
            virtual_camera_name=args.virtual_camera or "",
            browser=args.server is not None,
            server_port=_SERVER if args.server is None else args.server,
            vmc=args.vmc is not None,
            vmc_host=(args.vmc or _VMC)[0],
            vmc_port=(args.vmc or _VMC)[1],
            osc=args.osc is not None,
            osc_port=_OSC if args.osc is None else args.osc,
        ),
        sound=from_flags(SoundConfig, args),
        faces=tuple(tuple((path, args.face or 1) for path in face) for face in faces),
    )
    return open_window(Launch(settings, args.seconds, args.record, args.stats))


def _headless(args: argparse.Namespace) -> int:
    from app.headless import open_desk

    with open_desk(args) as desk:
        desk.subscribe(_tell)
        try:
            desk.start()
            _wait(desk, args.seconds, stay=args.server is not None)
            desk.stop()
        finally:
            if args.stats is not None:
                write_json(args.stats, desk.stats().as_dict())
        if desk.session is not None and desk.session.error is not None:
            raise desk.session.error
        stats = desk.stats()
    say(
        f"{stats.frames_out} pictures, {stats.fps:.0f} fps, delay {stats.delay.p95:.0f} ms (p95), "
        f"a voice matches {stats.sound_delay_ms:.0f} ms later"
    )
    return 0


def _wait(desk: LiveDesk, seconds: float | None, *, stay: bool) -> None:
    """Wait for the end; with `stay`, an ended session is not the end: it may be started again."""
    until = time.monotonic() + seconds if seconds is not None else float("inf")
    with StatusLine() as line:
        while (left := until - time.monotonic()) > 0:
            session = desk.session
            if session is None or session.wait(min(_POLL_S, left)) is not None:
                if not stay:
                    return
                time.sleep(min(_POLL_S, left))
            stats = desk.stats()
            line.show(
                f"{stats.state}  {stats.fps:.0f} fps  delay {stats.delay.p95:.0f} ms (p95)  {stats.shown}"
            )


def _tell(event: Event) -> None:
    if event.kind in _TOLD and event.message:
        note(f"kawari: {event.message}")


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port; give 1 to 65535")
    return port


def _address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `HOST` or `PORT`; "" for this computer and VMC's usual port."""
    host, _, port = text.rpartition(":") if ":" in text else ("", "", text)
    if not port.isdecimal():
        host, port = text, ""
    return host or _VMC[0], _port(port) if port else _VMC[1]
