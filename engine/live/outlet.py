"""The one door through which pictures leave: in order, never after a panic, to all sinks."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.buffers import Policy
from engine.live.delivery import Delivery
from engine.metrics import Histogram, Rate
from engine.types import Output

Ticket = tuple[int, int]
"""Number of the capture and number of the worker that a picture comes from."""


class Outlet:
    """Hands finished pictures to the deliveries; thread-safe.

    Args:
        now: monotonic clock, ns.
        covered: makes the output that replaces one when panic is on.

    Attributes:
        ticket: pictures with any other ticket are refused.
        last_ns: when something last left.
        last: the picture that left last.
        delay: capture to here, of every picture that left.
    """

    def __init__(self, now: Callable[[], int], covered: Callable[[Output], Output]) -> None:
        self._now = now
        self._covered = covered
        self._lock = threading.Lock()
        self._deliveries: tuple[Delivery, ...] = ()
        self._newest_ns = -1
        self._panic = False
        self.ticket: Ticket = (0, 0)
        self.last_ns = now()
        self.last: Output | None = None
        self.delay = Histogram()
        self.rate = Rate()

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        """The present sinks."""
        return self._deliveries

    def add(self, delivery: Delivery) -> None:
        """Send to this one, too, from the next picture on."""
        with self._lock:
            self._deliveries += (delivery,)

    def remove(self, delivery: Delivery) -> None:
        """Send to this one no longer."""
        with self._lock:
            self._deliveries = tuple(one for one in self._deliveries if one is not delivery)

    @property
    def in_panic(self) -> bool:
        """True while only the card may leave."""
        return self._panic

    def emit(self, output: Output, ticket: Ticket | None) -> str:
        """Let a picture leave.

        Args:
            output: the picture.
            ticket: where it comes from; None for the session's own cards, which fill a gap and so
                don't go to sinks that must get every picture (`Policy.BLOCK`).

        Returns:
            Why it was refused: "stale" if its source or worker was given up, "order" if a newer
            picture has left; empty if it left.
        """
        with self._lock:
            if ticket is not None and ticket != self.ticket:
                return "stale"
            if output.frame.captured_ns < self._newest_ns:
                return "order"
            self._newest_ns = output.frame.captured_ns
            output = self.last_check(output)
            self.last = output
            self.last_ns = self._now()
            if ticket is not None:
                self.delay.record(self.last_ns - output.frame.captured_ns)
                self.rate.tick(self.last_ns)
            waiting = []
            for delivery in self._deliveries:
                if delivery.policy is Policy.BLOCK:
                    waiting.append(delivery)
                else:
                    delivery.queue.put(output)
        if ticket is not None:
            for delivery in waiting:
                delivery.queue.put(output)
        return ""

    def last_check(self, output: Output) -> Output:
        """What may really be handed over now; called once more right before each sink's `write`."""
        return self._covered(output) if self._panic and output.reason != "panic" else output

    def panic(self, on: bool) -> None:
        """Cover everything from now on, what waits in the queues included; or release it."""
        with self._lock:
            self._panic = on

    def admit(self, ticket: Ticket) -> None:
        """Refuse everything that comes from any other capture or worker from now on."""
        with self._lock:
            self.ticket = ticket
