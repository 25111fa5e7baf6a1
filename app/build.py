"""Puts the engine's parts together for the window, the command line and the server alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.options import DEFAULT, OFF, CameraConfig, OutputConfig, SoundConfig, check_guard
from engine.config import GuardConfig, SessionConfig, SwapConfig
from engine.errors import InputError
from engine.events import Report, silent
from engine.sinks.split import Split

if TYPE_CHECKING:
    from engine.content.gate import PhotoGate
    from engine.content.judges import Judge
    from engine.content.watch import ContentWatch
    from engine.identity.consent import ConsentStore
    from engine.live.dispatch import Route
    from engine.live.session import Session
    from engine.mark.badge import Badge
    from engine.mark.credentials import Credentials
    from engine.mark.marker import Marker
    from engine.pipeline import Pipeline
    from engine.sinks.base import Sink
    from engine.sinks.browser import BrowserSink
    from engine.sound.microphone import Microphone
    from engine.sources.base import Source
    from engine.swap.base import Swapper
    from engine.types import Image

DEMO = "demo"
"""The name of the demo camera."""


def source_giver(config: CameraConfig) -> Callable[[], Source]:
    """A function that makes the source a camera setting names: the demo, a clip or picture, a camera.

    Raises:
        InputError: it looks like a file, and there is none.
    """
    width, height = config.pixels
    name = config.camera
    if name == DEMO:
        from engine.sources.demo import DemoSource

        return lambda: DemoSource((width, height), config.fps)
    path = Path(name)
    if name and not name.isdecimal() and path.is_file():
        from engine.sources.file import FileSource
        from engine.sources.still import StillSource, is_still

        if is_still(path):
            return lambda: StillSource(path, fps=config.fps)
        return lambda: FileSource(path, loop=True, realtime=True)
    if path.suffix and not name.startswith("/dev/") and path.suffix.lower() in _FILE_SUFFIXES:
        raise InputError(f"There is no file {path.name}", "Check the path")
    from engine.sources.camera import CameraSource

    return lambda: CameraSource(name or None, size=(width, height), fps=config.fps)


_RECORDER_QUEUE = 30
_FILE_SUFFIXES = {".mp4", ".mov", ".mkv", ".webm", ".avi", ".gif", ".jpg", ".jpeg", ".png", ".webp", ".ts"}


def make_session(
    config: SessionConfig,
    source: Callable[[], Source],
    swapper: Swapper[Any],
    identity: object,
    sinks: Sequence[Sink | Route],
    *,
    badge: Badge | None = None,
) -> Session:
    """A live session whose every picture is marked, and whose output is looked at once a second.

    Args:
        badge: the visible mark; the standard one if not given.
    """
    from app.event_log import EventLog
    from engine.buffers import Policy
    from engine.content.watch import ContentWatch
    from engine.live.dispatch import Route
    from engine.live.session import Session
    from engine.mark.badge import Badge

    if hasattr(swapper, "limit_s"):
        swapper.limit_s = config.delay.hard_ms / 1e3

    def cover(seen: str) -> None:
        session.panic(True, f"{seen}: it was covered; uncover it when that is not so")

    watch = Route(ContentWatch(cover, _judges), Policy.DROP_OLDEST, 1, restart=True)
    session = Session(
        config, source, (*sinks, watch), identity=identity, swapper=swapper,
        marker=_marker(swapper.name, badge or Badge()), picture=_guard_picture(config.guard),
    )  # fmt: skip
    session.subscribe(EventLog())
    return session


def make_pipeline(
    swap: SwapConfig,
    guard: GuardConfig,
    swapper: Swapper[Any],
    identity: object,
    *,
    badge: Badge | None = None,
    report: Report = silent,
) -> Pipeline:
    """The same stages without threads, for files; every picture is marked."""
    from engine.blend.modes import paster
    from engine.build import choice_for, make_tracker
    from engine.mark.badge import Badge
    from engine.pipeline import Pipeline, Plan

    plan = Plan({0: identity}, choice_for(swap.who), swap.strength, guard)
    tracker = make_tracker(swap.detector, report, thorough=True)
    marker, join = _marker(swapper.name, badge or Badge()), paster(swap.blend)
    picture = _guard_picture(guard)
    return Pipeline(tracker, swapper, plan, marker=marker, picture=picture, report=report, join=join)


def make_virtual_camera(
    name: str,
    swapper: str,
    *,
    size: tuple[int, int] | None = None,
    fps: float = 0.0,
    backend: str | None = None,
) -> Route:
    """The virtual camera of that name, "" for the one to be had; reopened if it fails.

    Args:
        size: width and height; those of the stream if not given.
        fps: frames per second; 0 for the stream's.
    """
    from engine.live.dispatch import Route
    from engine.sinks.virtual_camera import VirtualCamera

    card = _marked_card(swapper)
    sink = VirtualCamera(name or None, size=size, fps=fps or None, card=card, backend=backend)
    return Route(sink, restart=True)


def make_vmc(host: str, port: int) -> Route:
    """Pose and expression for VTuber programs; reopened if it fails."""
    from engine.live.dispatch import Route
    from engine.sinks.vmc import VmcSink

    return Route(VmcSink(host, port), restart=True)


def make_browser(swapper: str) -> BrowserSink:
    """The pictures of the browser page."""
    from engine.sinks.browser import BrowserSink

    return BrowserSink(_marked_card(swapper))


def make_recorder(
    path: Path,
    swapper: str,
    output: OutputConfig,
    sound: SoundConfig,
    microphone: Microphone | None,
    warn: Callable[[str], None],
) -> Route:
    """A recorder to a file; a slow disk costs pictures in the file, never in the stream.

    Args:
        path: the first file.
        swapper: its name goes into the signed statement.
        output: says when files are split, and which encoder is used.
        sound: says how much later the voice is put.
        microphone: the voice; None for none.
        warn: told a sentence when something does not work as asked, on any thread.
    """
    from engine.buffers import Policy
    from engine.live.dispatch import Route
    from engine.sinks.recorder import Recorder

    recorder = Recorder(
        path, encoder=output.encoder, microphone=microphone, shift_ms=sound.shift_ms,
        split=Split.parse(output.split), finish=credentials(swapper).attach, warn=warn,
    )  # fmt: skip
    return Route(recorder, Policy.DROP_NEW, _RECORDER_QUEUE)


def make_microphone(name: str) -> Microphone | None:
    """The microphone of `SoundConfig.microphone`, None for `off`; nothing is opened yet."""
    from engine.sound.microphone import Microphone

    return None if name == OFF else Microphone("" if name == DEFAULT else name)


def make_monitor(microphone: Microphone, name: str) -> Route:
    """The delayed voice on the output of `SoundConfig.monitor`."""
    from engine.live.dispatch import Route
    from engine.sinks.monitor import Monitor

    return Route(Monitor(microphone, "" if name == DEFAULT else name), restart=True)


def credentials(swapper: str) -> Credentials:
    """What finished files are signed with."""
    from engine.folders import home
    from engine.mark.credentials import Credentials
    from engine.mark.marker import make_payload
    from engine.mark.signer import local_signing_key

    return Credentials(local_signing_key(home()), make_payload(home(), swapper), swapper)


def photo_gate(consents: ConsentStore) -> PhotoGate:
    """The content check of source photos; those with a consent on record passed it at their import."""
    from engine.content.gate import PhotoGate
    from engine.folders import home

    return PhotoGate(lambda digest: consents.find(digest) is not None, home())


def clip_watch() -> ContentWatch:
    """The content check of clips and pictures: nothing is written of what must be covered."""
    from engine.content.watch import ContentWatch
    from engine.errors import RefusedError

    def refuse(seen: str) -> None:
        raise RefusedError(f"{seen}, so nothing was written", "Use another clip or picture")

    return ContentWatch(refuse, _judges, lambda frame: frame.seconds)


def _judges() -> tuple[Judge, ...]:
    from engine.content.judges import standard_judges
    from engine.folders import home

    return standard_judges(home())


def _guard_picture(guard: GuardConfig) -> Image | None:
    """What the guard's policy `picture` shows; None if no picture was chosen.

    Raises:
        InputError: it can't be read.
        UsageError: the policy needs one, and there is none.
    """
    check_guard(guard)
    if not guard.picture:
        return None
    from engine.identity.picture import read_picture

    return read_picture(guard.picture)


def _marked_card(swapper: str) -> Callable[[int, int], Image]:
    """Draws what is shown while nothing runs."""
    from engine.cards import draw_card

    marker = _marker(swapper, None)  # nothing on the card is synthetic, but it leaves, too

    def card(width: int, height: int) -> Image:
        image = draw_card(width, height, "panic")
        marker.apply(image)
        return image

    return card


def _marker(swapper: str, badge: Badge | None) -> Marker:
    """What every picture is marked with: the watermark always, and the badge if there is one."""
    from engine.folders import home
    from engine.mark.marker import make_marker

    return make_marker(home(), swapper, badge)
