"""What the server needs of whoever runs the sessions: the command line or the window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.config import GuardPolicy
from engine.events import Event
from engine.live.stats import Stats


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

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call back with each event of every session; the result ends it."""
        ...
