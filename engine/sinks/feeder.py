"""When a virtual camera is sent what: a fresh picture at once, a repeat in a gap, the card in a long one."""

from __future__ import annotations

import time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.sinks.ring import Ring

CARD_AFTER_S = 1.0
"""Time without a new picture after which the card is shown."""
_MIN_GAP = 0.6
"""Of the frame period: pictures closer together than this are thinned out, the newest wins."""
_REPEAT = 2.0
"""Frame periods without a new picture after which the last one is sent again."""


class Output(Protocol):
    """Where pictures go."""

    device: str

    def send(self, picture: NDArray[np.uint8]) -> None:
        """Deliver one picture. Raises OSError once the device is gone."""
        ...

    def close(self) -> None:
        """Let the device go, so that the next program can have it."""
        ...


class MemoryOutput:
    """Puts what it is sent into another ring, so that the process logic can be tested without a driver."""

    def __init__(self, name: str) -> None:
        self.device = name
        self._ring = Ring.attach(name)

    def send(self, picture: NDArray[np.uint8]) -> None:
        """See `Output`."""
        with self._ring.writing() as slot:
            np.copyto(slot, picture)

    def close(self) -> None:
        """See `Output`."""
        self._ring.close()


class Feeder:
    """Decides what is sent when. All times are `time.monotonic()` seconds."""

    def __init__(self, ring: Ring, output: Output, fps: float, now: float) -> None:
        self._ring, self._output, self._period = ring, output, 1 / fps
        self._card = np.array(ring.card)
        self._picture, self._spare = np.empty_like(self._card), np.empty_like(self._card)
        # After a crash the ring holds a picture of unknown age: wait for the next one, and don't let
        # the card flash meanwhile. At a first start the card makes the device visible at once.
        self._number = self._seen = ring.latest
        self._last_sent = now if self._number else now - _REPEAT * self._period
        self._last_new = now - CARD_AFTER_S
        self._pending = False
        self.showing_card = True
        self.sent = self.repeated = 0

    @property
    def due(self) -> float:
        """When `step` has something to do even if no picture comes."""
        return self._last_sent + self._period * (_MIN_GAP if self._pending else _REPEAT)

    def step(self, now: float, engine_gone: bool) -> None:
        """Send a picture if it is time to. Raises OSError once the device is gone."""
        latest = self._ring.latest
        if latest > self._seen and not engine_gone:
            self._seen, self._last_new = latest, now
            self._pending, self.showing_card = True, False
        elif not self.showing_card and (engine_gone or now - self._last_new >= CARD_AFTER_S):
            self._pending, self.showing_card = True, True
        if now < self.due:
            return
        if self.showing_card:
            picture = self._card
        else:
            number = self._ring.read(self._number, self._spare)
            if number:
                self._picture, self._spare = self._spare, self._picture
                self._number = self._seen = number
            picture = self._picture
        self.repeated += not self._pending
        self._pending, self._last_sent = False, now
        self._output.send(picture)
        self.sent += 1

    def finish(self) -> None:
        """Leave the card behind as the last picture that viewers have."""
        for _ in range(2):
            self._output.send(self._card)
            time.sleep(self._period)

    @property
    def state(self) -> dict[str, Any]:
        """For the `alive` event."""
        return {
            "sent": self.sent,
            "repeated": self.repeated,
            "card": self.showing_card,
            "number": self._number,
        }
