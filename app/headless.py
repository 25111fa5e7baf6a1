"""Puts the headless `kawari live` together: faces, outputs, the control server."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.build import (
    make_browser,
    make_microphone,
    make_monitor,
    make_recorder,
    make_virtual_camera,
    make_vmc,
)
from app.commands.arguments import prepare, read_photos, swap_config
from app.console import note
from app.desk import RECORDING, LiveDesk, Plug, Worn
from app.options import DEFAULT, OFF, CameraConfig, OutputConfig, SoundConfig, from_flags
from engine.config import BadgeConfig, DelayConfig, GuardConfig, GuardPolicy, SessionConfig
from engine.errors import UsageError

if TYPE_CHECKING:
    from engine.live.dispatch import Route
    from engine.swap.base import Swapper


@contextmanager
def open_desk(args: argparse.Namespace) -> Iterator[LiveDesk]:
    """The desk that the flags ask for, with the control server and OSC around it; nothing runs yet."""
    config = _config(args)
    swapper, faces = _faces(args, config)
    name = "none" if config.tracking_only else swapper.name
    browser = make_browser(name) if args.server is not None else None
    desk = LiveDesk(
        config, from_flags(CameraConfig, args), swapper, faces, _plugs(args, name),
        [browser] if browser is not None else [],
        badge=from_flags(BadgeConfig, args),
    )  # fmt: skip
    with ExitStack() as stack:
        if browser is not None:
            from app.server.opening import open_server

            server = stack.enter_context(open_server(desk, browser, args.server))
            note(f"kawari: page {server.page}")
            note(f"kawari: control {server.address}/api/ token {server.token}")
        if args.osc is not None:
            from app.osc import OscControl

            stack.enter_context(OscControl(desk, args.osc))
        stack.callback(desk.close)
        yield desk


def _config(args: argparse.Namespace) -> SessionConfig:
    swap, guard = swap_config(args), from_flags(GuardConfig, args)
    if args.tracking_only:
        guard = replace(guard, policy=GuardPolicy(args.picture))
    return SessionConfig(
        swap=swap, guard=guard, delay=from_flags(DelayConfig, args), tracking_only=args.tracking_only
    )


def _faces(args: argparse.Namespace, config: SessionConfig) -> tuple[Swapper[Any], list[Worn]]:
    if config.tracking_only:
        if args.source or args.other:
            raise UsageError("With --tracking-only no face is swapped in", "Leave --source and --other out")
        from engine.swap import make_swapper

        return make_swapper(), []
    from engine.identity.library import IdentityLibrary

    swapper, identity = prepare(args, config.swap.swapper)
    faces = [Worn(Path(args.source[0]).stem if args.source else "built-in", identity)]
    library = IdentityLibrary()
    for photos in args.other or ():
        wanted = argparse.Namespace(**{**vars(args), "source": photos})
        faces.append(Worn(Path(photos[0]).stem, library.prepare(swapper, read_photos(wanted, library))))
    return swapper, faces


def _plugs(args: argparse.Namespace, swapper: str) -> list[Plug]:
    record, output = _recordings(args.record), from_flags(OutputConfig, args)
    sound = from_flags(SoundConfig, args)
    microphone = make_microphone(sound.microphone)
    address = args.vmc or (output.vmc_host, output.vmc_port)

    def recorder() -> Route:
        return make_recorder(next(record), swapper, output, sound, microphone, warn)

    def warn(sentence: str) -> None:
        note(f"kawari: {sentence}")

    plugs = [
        Plug(
            "virtual-camera", "Virtual camera",
            lambda: make_virtual_camera(
                args.virtual_camera or "", swapper,
                size=output.virtual_camera_pixels, fps=output.virtual_camera_fps,
            ),
            args.virtual_camera is not None,
        ),
        Plug(RECORDING, "Recording", recorder, args.record is not None),
        Plug("vmc", "VMC, for VTuber programs", lambda: make_vmc(*address), args.vmc is not None),
    ]  # fmt: skip
    if microphone is not None:
        device = DEFAULT if sound.monitor == OFF else sound.monitor
        on = sound.monitor != OFF
        plugs.append(Plug("monitor", "Delayed voice", lambda: make_monitor(microphone, device), on))
    return plugs


def _recordings(first: Path | None) -> Iterator[Path]:
    """The file that was asked for, then new ones beside it; without one, in the user's videos."""
    import platformdirs

    if first is not None:
        yield first
    folder = Path(platformdirs.user_videos_dir()) if first is None else first.parent
    while True:
        yield folder / f"Kawari {time.strftime('%Y-%m-%d %H-%M-%S')}.mp4"
