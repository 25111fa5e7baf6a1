"""The states of a session and the moves between them."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable


class State(enum.Enum):
    """What a session is doing.

    ::

        IDLE ──► STARTING ──► RUNNING ◄──► RECOVERING
                    │            │              │
                    ▼            ▼              │
                STOPPING ◄───────┴──────────────┘
                    │
                    ▼
                FINISHED   (with a FinishReason; a session is not started twice)
    """

    IDLE = "idle"
    STARTING = "starting"
    RUNNING = "running"
    RECOVERING = "recovering"
    """The source or a model is gone and is being restarted; sinks get a card."""
    STOPPING = "stopping"
    FINISHED = "finished"


class FinishReason(enum.Enum):
    """Why a session finished."""

    STOPPED = "stopped"
    """Somebody called `stop`."""
    ENDED = "ended"
    """The source had no more frames."""
    FAILED = "failed"
    """It could not start, or could not be kept running; `Session.error` says why."""


ALLOWED: dict[State, frozenset[State]] = {
    State.IDLE: frozenset({State.STARTING, State.STOPPING}),
    State.STARTING: frozenset({State.RUNNING, State.STOPPING}),
    State.RUNNING: frozenset({State.RECOVERING, State.STOPPING}),
    State.RECOVERING: frozenset({State.RUNNING, State.STOPPING}),
    State.STOPPING: frozenset({State.FINISHED}),
    State.FINISHED: frozenset(),
}


class StateMachine:
    """Holds the state; thread-safe.

    Args:
        changed: called with the new state after each move, on the moving thread.
    """

    def __init__(self, changed: Callable[[State], None]) -> None:
        self._changed = changed
        self._state = State.IDLE
        self._moved = threading.Condition()

    @property
    def state(self) -> State:
        """The present state."""
        return self._state

    def move(self, target: State) -> bool:
        """Go to `target`; False (and nothing happens) if the table does not allow it from here."""
        with self._moved:
            if target not in ALLOWED[self._state]:
                return False
            self._state = target
            self._moved.notify_all()
        self._changed(target)
        return True

    def wait_for(self, target: State, timeout: float | None) -> bool:
        """Wait until the state is `target`; False if the time is over first."""
        with self._moved:
            return self._moved.wait_for(lambda: self._state is target, timeout)
