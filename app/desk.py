"""Runs one session after another and remembers what was chosen: the headless `kawari live`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from app.build import DEMO, make_session, source_giver
from app.options import CameraConfig, check_guard
from app.server.desk import Choice, Recording, the_recorder
from engine.config import BadgeConfig, GuardConfig, GuardPolicy, SessionConfig
from engine.errors import InputError, UsageError
from engine.live.stats import Stats

if TYPE_CHECKING:
    from engine.events import Event
    from engine.live.dispatch import Route
    from engine.live.session import Session
    from engine.sinks.base import Sink
    from engine.sinks.recorder import Recorder
    from engine.swap.base import Swapper

_UP = ("starting", "running", "recovering")
_FINISHING_S = 600.0
"""Signing a recording of an hour takes some seconds; a disk that hangs must not hold the program for ever."""
RECORDING = "recording"
"""The plug whose sink is a recorder."""


@dataclass(frozen=True)
class Worn:
    """A face that may be worn.

    Attributes:
        name: for people.
        identity: as the swapper prepared it.
    """

    name: str
    identity: Any


@dataclass
class Plug:
    """An output that may be switched.

    Attributes:
        id: what to ask for it by.
        name: for people.
        make: makes its sink, each time it is switched on.
        on: it is wanted.
        sink: the one in the present session.
    """

    id: str
    name: str
    make: Callable[[], Sink | Route]
    on: bool = False
    sink: Sink | None = None


class LiveDesk:
    """See `app.server.desk.Desk`.

    Args:
        config: of every session; strength and guard may be changed.
        camera: the first one.
        swapper: prepared the faces.
        faces: the first is worn; none where only the tracking runs.
        plugs: the outputs.
        always: sinks of every session.
        badge: the visible mark; never where only the tracking runs, since nothing is synthetic.
    """

    def __init__(
        self,
        config: SessionConfig,
        camera: CameraConfig,
        swapper: Swapper[Any],
        faces: Sequence[Worn],
        plugs: Sequence[Plug],
        always: Sequence[Sink | Route] = (),
        *,
        badge: BadgeConfig | None = None,
    ) -> None:
        self._config, self._camera, self._swapper = config, camera, swapper
        self._faces, self._face = tuple(faces), 0
        self._plugs = {plug.id: plug for plug in plugs}
        self._always, self._badge = tuple(always), badge or BadgeConfig()
        if config.tracking_only:
            self._badge = replace(self._badge, shown=False)
        self._first_camera = camera.camera
        self._panic = False
        self._lock = threading.Lock()
        self._listeners: tuple[Callable[[Event], None], ...] = ()
        self.session: Session | None = None
        """The one that runs, or the last one."""

    @property
    def swapper(self) -> str:
        """See `Desk`."""
        return "none" if self._config.tracking_only else self._swapper.name

    @property
    def strength(self) -> float:
        """See `Desk`."""
        return self._config.swap.strength

    @property
    def guard(self) -> GuardPolicy:
        """See `Desk`."""
        return self._config.guard.policy

    @property
    def runs(self) -> bool:
        """A session runs, or is about to."""
        return self.session is not None and self.session.state.value in _UP

    def stats(self) -> Stats:
        """See `Desk`."""
        session = self.session
        return replace(Stats() if session is None else session.stats(), panic=self._panic)

    # life; stop and panic never wait for anything else

    def start(self) -> None:
        """See `Desk`."""
        with self._lock:
            if self.runs:
                raise UsageError("The stream runs already", "Stop it first")
            from engine.mark.badge import Badge

            wanted = [plug for plug in self._plugs.values() if plug.on]
            routes = [plug.make() for plug in wanted]
            for plug in self._plugs.values():
                plug.sink = None
            for plug, route in zip(wanted, routes, strict=True):
                plug.sink = _sink(route)
            session = make_session(
                self._config, source_giver(self._camera), self._swapper,
                self._faces[self._face].identity if self._faces else None,
                [*routes, *self._always], badge=Badge(self._badge),
            )  # fmt: skip
            session.subscribe(self._heard)
            if self._panic:
                session.panic()  # covers from the first picture on
            self.session = session
            session.start()
            if self._panic:
                session.panic()

    def stop(self) -> None:
        """See `Desk`."""
        if self.session is not None:
            self.session.stop()

    def close(self) -> None:
        """Stop, and wait until recordings are finished and signed."""
        self.stop()
        recorder = self._plugs[RECORDING].sink if RECORDING in self._plugs else None
        if recorder is not None:
            cast("Recorder", recorder).wait(_FINISHING_S)

    def panic(self, on: bool) -> None:
        """See `Desk`; while nothing runs, the next session starts covered."""
        self._panic = on
        if self.session is not None and self.runs:
            self.session.panic(on)

    # what is chosen

    def set_strength(self, strength: float) -> None:
        """See `Desk`."""
        with self._lock:
            self._config = replace(self._config, swap=replace(self._config.swap, strength=strength))
            if self.session is not None and self.runs:
                self.session.set_strength(strength)

    def set_guard(self, policy: GuardPolicy) -> None:
        """See `Desk`."""
        guard: GuardConfig = replace(self._config.guard, policy=policy)
        check_guard(guard)
        with self._lock:
            self._config = replace(self._config, guard=guard)
            if self.session is not None and self.runs:
                self.session.set_guard(guard)

    def faces(self) -> list[Choice]:
        """See `Desk`."""
        return [
            Choice(str(number + 1), face.name, number == self._face)
            for number, face in enumerate(self._faces)
        ]

    def wear(self, face: str) -> None:
        """See `Desk`."""
        with self._lock:
            number = _find(self.faces(), face, "face")
            self._face = number
            if self.session is not None and self.runs:
                self.session.set_identity(self._faces[number].identity)

    def cameras(self) -> list[Choice]:
        """See `Desk`; a clip that was given at the start is one of them."""
        from engine.devices import list_cameras

        names = list(dict.fromkeys(camera.name for camera in list_cameras()))
        present = self._camera.camera or next(iter(names), "")
        known = [(name, name) for name in names] + [(DEMO, "Demo camera")]
        first = self._first_camera
        if first and first not in dict(known):
            known.append((first, Path(first).name or first))
        return [Choice(key, name, key == present) for key, name in known]

    def use_camera(self, camera: str) -> None:
        """See `Desk`."""
        with self._lock:
            _find(self.cameras(), camera, "camera")
            config = replace(self._camera, camera=camera)
            if self.session is not None and self.runs:
                self.session.switch_source(source_giver(config))
            self._camera = config

    def outputs(self) -> list[Choice]:
        """See `Desk`."""
        failed = {sink.name for sink in self.stats().sinks if sink.failed} if self.runs else set()
        return [
            Choice(plug.id, plug.name, plug.on and not (plug.sink and plug.sink.name in failed))
            for plug in self._plugs.values()
        ]

    def switch_output(self, output: str, on: bool) -> None:
        """See `Desk`."""
        with self._lock:
            plug = list(self._plugs.values())[_find(self.outputs(), output, "output")]
            if self.session is not None and self.runs:
                if plug.sink is not None:
                    sink, plug.sink = plug.sink, None
                    self.session.remove_sink(sink)
                if on:
                    route = plug.make()
                    self.session.add_sink(route)
                    plug.sink = _sink(route)
            plug.on = on

    @property
    def recording(self) -> Recording:
        """See `Desk`."""
        recorder = self._recorder()
        return "off" if recorder is None else "paused" if recorder.paused else "on"

    def pause_recording(self, on: bool) -> None:
        """See `Desk`."""
        the_recorder(self._recorder()).pause(on)

    def split_recording(self) -> None:
        """See `Desk`."""
        the_recorder(self._recorder()).split()

    def _recorder(self) -> Recorder | None:
        if not self.runs or not any(one.id == RECORDING and one.on for one in self.outputs()):
            return None
        return cast("Recorder | None", self._plugs[RECORDING].sink)

    # events

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """See `Desk`."""
        with self._lock:
            self._listeners += (callback,)

        def unsubscribe() -> None:
            with self._lock:
                self._listeners = tuple(one for one in self._listeners if one is not callback)

        return unsubscribe

    def _heard(self, event: Event) -> None:
        if event.kind == "panic" and event.message:  # the content watch covered it
            self._panic = bool(event.data["on"])
        for listener in self._listeners:
            listener(event)


def _sink(made: Sink | Route) -> Sink:
    return made.sink if hasattr(made, "sink") else made


def _find(choices: Sequence[Choice], wanted: str, kind: str) -> int:
    """Place of the choice with this id.

    Raises:
        InputError: there is none.
    """
    for place, choice in enumerate(choices):
        if choice.id == wanted:
            return place
    known = ", ".join(choice.id for choice in choices)
    raise InputError(f"There is no {kind} '{wanted}'", f"Choose one of: {known}" if known else "")
