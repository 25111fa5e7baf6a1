"""What the server needs of whoever runs the sessions: the command line or the window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from engine.config import GuardPolicy
from engine.errors import UsageError
from engine.events import Event
from engine.live.stats import Stats

if TYPE_CHECKING:
    from engine.sinks.recorder import Recorder

Recording = Literal["off", "on", "paused"]
"""What the recorder is doing."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several things to choose or to switch.

    Attributes:
        id: what to ask for it by.
        name: for people.
        on: chosen, or switched on.
    """

    id: str
    name: str
    on: bool


class Desk(Protocol):
    """All methods may be called from any thread, may take a while, and raise `KawariError`."""

    @property
    def swapper(self) -> str:
        """Name of the swapper, "none" where only the tracking runs."""
        ...

    @property
    def strength(self) -> float:
        """See `SwapConfig.strength`."""
        ...

    @property
    def guard(self) -> GuardPolicy:
        """What leaves instead of an unswapped face."""
        ...

    def stats(self) -> Stats:
        """Figures of the session that runs, or of the last one."""
        ...

    def start(self) -> None:
        """Start a session with what is chosen."""
        ...

    def stop(self) -> None:
        """Stop it."""
        ...

    def panic(self, on: bool) -> None:
        """Cover everything, or uncover it."""
        ...

    def set_strength(self, strength: float) -> None:
        """From the next frame on, and in later sessions."""
        ...

    def set_guard(self, policy: GuardPolicy) -> None:
        """From the next frame on, and in later sessions."""
        ...

    def faces(self) -> list[Choice]:
        """Faces that may be worn."""
        ...

    def wear(self, face: str) -> None:
        """Swap in another face."""
        ...

    def cameras(self) -> list[Choice]:
        """Cameras that may be used."""
        ...

    def use_camera(self, camera: str) -> None:
        """Go over to another camera."""
        ...

    def outputs(self) -> list[Choice]:
        """Outputs, on and off."""
        ...

    def switch_output(self, output: str, on: bool) -> None:
        """Switch an output on or off; while no session runs, for the next one."""
        ...

    @property
    def recording(self) -> Recording:
        """What the recorder is doing."""
        ...

    def pause_recording(self, on: bool) -> None:
        """Leave out what comes from now on, or go on. Raises `UsageError` if nothing is recorded."""
        ...

    def split_recording(self) -> None:
        """Go on in a new file. Raises `UsageError` if nothing is recorded."""
        ...

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call back with each event of every session; the result ends it."""
        ...


def the_recorder(present: Recorder | None) -> Recorder:
    """The recorder that is there; raises `UsageError` if there is none."""
    if present is None:
        raise UsageError("Nothing is recorded", "Switch the output 'recording' on first")
    return present
