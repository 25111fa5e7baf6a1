"""`kawari demo`: the main job with nothing at hand, the demo camera and the built-in face."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from app import screen
from app.build import DEMO
from app.commands.arguments import positive
from app.console import Progress, say
from app.options import CameraConfig

_SECONDS = 10.0
_FILE = "kawari-demo.mp4"
_FPS = 30.0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    text = "show the swap with the demo camera and the built-in face"
    parser = subparsers.add_parser(
        "demo", help=text, description=f"{text}; without a screen, a video file is written instead"
    )
    parser.add_argument("--seconds", type=positive, metavar="N", help=f"how long ({_SECONDS:g} for a file)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write a video file and open no window")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Open the window, or write the file where there is no screen."""
    if args.output is None and screen.available():
        from app.gui.application import Launch, open_window
        from app.gui.settings import Settings

        return open_window(Launch(Settings(camera=CameraConfig(DEMO)), args.seconds))
    path = (args.output or Path(_FILE)).absolute()
    _write(path, args.seconds or _SECONDS)
    say(f"The demo was written to {path}")
    return 0


def _write(path: Path, seconds: float) -> None:
    from app.build import credentials, make_pipeline
    from app.clip import ClipProcess
    from engine.atomic import replacing
    from engine.config import GuardConfig, SwapConfig
    from engine.identity.demo import demo_photo
    from engine.identity.library import IdentityLibrary
    from engine.sinks.base import StreamInfo
    from engine.sinks.recorder import Recorder
    from engine.sources.demo import DemoSource
    from engine.swap import make_swapper

    frames = max(1, round(seconds * _FPS))
    source = DemoSource(CameraConfig().pixels, _FPS, realtime=False, frames=frames)
    swapper = make_swapper()
    swap = SwapConfig()
    identity = IdentityLibrary().prepare(swapper, [demo_photo()])
    process = ClipProcess(make_pipeline(swap, GuardConfig(), swapper, identity))
    info = source.open()
    with replacing(path) as partial, Progress() as progress:
        recorder = Recorder(partial, finish=credentials(swapper.name).attach)
        recorder.open(StreamInfo(info.width, info.height, info.fps, info.live))
        try:
            while (frame := source.read()) is not None:
                # The recording's clock is the capture's; these frames come faster or slower than live.
                timed = replace(frame, captured_ns=round((frame.pts or 0.0) * 1e9))
                recorder.write(process(timed))
                progress(frame.id + 1, frames)
        finally:
            recorder.close()
            source.close()
