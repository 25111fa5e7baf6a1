"""`kawari live`: a camera in, the same with the other face to the window, a virtual camera, a file."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import screen
from app.commands.arguments import add_swap_flags, positive, prepare, read_photos, swap_config
from app.console import StatusLine, note, say, write_json
from app.options import CameraConfig, OutputConfig, add_flags, from_flags
from engine.config import DelayConfig, GuardConfig
from engine.errors import UsageError

if TYPE_CHECKING:
    from engine.events import Event
    from engine.session import Session

_POLL_S = 0.5
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
    outputs.add_argument("--record", type=Path, metavar="FILE", help="record to a video file")
    outputs.add_argument("--headless", action="store_true", help="open no window")
    outputs.add_argument("--seconds", type=positive, metavar="N", help="stop by itself after so long")
    outputs.add_argument("--stats", type=Path, metavar="FILE", help="write all figures as JSON at the end")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Run until it is stopped, the time is over, or the source ends."""
    for path in (args.record, args.stats):
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(f"There is no folder {path.parent}", "Create it first")
    return _headless(args) if args.headless else _window(args)


def _window(args: argparse.Namespace) -> int:
    screen.require()
    from app.gui.application import Launch, open_window
    from app.gui.settings import Settings
    from engine.identity.library import IdentityLibrary

    read_photos(args, IdentityLibrary())  # complains here, and records the consent
    settings = Settings(
        swap=swap_config(args),
        guard=from_flags(GuardConfig, args),
        delay=from_flags(DelayConfig, args),
        camera=from_flags(CameraConfig, args),
        output=from_flags(
            OutputConfig,
            args,
            virtual_camera=args.virtual_camera is not None,
            virtual_camera_name=args.virtual_camera or "",
        ),
        sources=tuple((path, args.face or 1) for path in args.source or ()),
    )
    return open_window(Launch(settings, args.seconds, args.record, args.stats))


def _headless(args: argparse.Namespace) -> int:
    from app.build import make_recorder, make_session, make_virtual_camera, source_giver
    from engine.config import SessionConfig

    config = SessionConfig(
        swap=swap_config(args),
        guard=from_flags(GuardConfig, args),
        delay=from_flags(DelayConfig, args),
    )
    swapper, identity = prepare(args, config.swap.swapper)
    sinks: list[Any] = []
    if args.virtual_camera is not None:
        sinks.append(make_virtual_camera(args.virtual_camera, swapper.name))
    if args.record is not None:
        sinks.append(make_recorder(args.record, swapper.name))
    camera = source_giver(from_flags(CameraConfig, args))
    session = make_session(
        config, camera, swapper, identity, sinks, badge=from_flags(OutputConfig, args).badge
    )
    session.subscribe(_tell)
    try:
        with session:
            _wait(session, args.seconds)
    finally:
        if args.stats is not None:
            write_json(args.stats, session.stats().as_dict())
    if session.error is not None:
        raise session.error
    stats = session.stats()
    say(f"{stats.frames_out} pictures, {stats.fps:.0f} fps, delay {stats.delay.p95:.0f} ms (p95)")
    return 0


def _wait(session: Session, seconds: float | None) -> None:
    until = time.monotonic() + seconds if seconds is not None else float("inf")
    with StatusLine() as line:
        while (left := until - time.monotonic()) > 0:
            if session.wait(min(_POLL_S, left)) is not None:
                return
            stats = session.stats()
            line.show(
                f"{stats.state}  {stats.fps:.0f} fps  delay {stats.delay.p95:.0f} ms (p95)  {stats.shown}"
            )


def _tell(event: Event) -> None:
    if event.kind in _TOLD and event.message:
        note(f"kawari: {event.message}")
