"""Finds the best rung of the provider ladder on which a network really runs, and steps down from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.errors import ModelError
from engine.runtime.network import Network, warm_up
from engine.runtime.providers import Rung

OpenRung = Callable[[Rung], Network]
"""Opens the network on a rung; raises whatever the provider raises."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rung that was tried and is not used.

    Attributes:
        rung: its name.
        reason: why, one line.
    """

    rung: str
    reason: str


class Climb:
    """The rungs of one network, tried from the top; a rung counts only after a warm-up of this network.

    Args:
        rungs: from the fastest to the surest.
        open_rung: opens the network.

    Attributes:
        refusals: what was tried in vain, in order.
        seconds: what one run took in the warm-up on the rung in use.
    """

    def __init__(self, rungs: Sequence[Rung], open_rung: OpenRung) -> None:
        self._rungs = tuple(rungs)
        self._open = open_rung
        self._next = 0
        self._current: Rung | None = None
        self.refusals: list[Refusal] = []
        self.seconds = 0.0

    @property
    def rung(self) -> str:
        """The name of the rung in use, "" if there is none."""
        return self._current.name if self._current else ""

    def step(self, error: Exception | None = None) -> Network:
        """The network on the next rung that works.

        Args:
            error: how the rung in use failed; None at the start. After running out of memory the
                rung with less is tried; after wrong numbers only exact rungs are, if that one was not.

        Raises:
            ModelError: none is left.
        """
        failed, self._current = self._current, None
        if failed is not None and error is not None:
            self.refusals.append(Refusal(failed.name, reason(error)))
        inexact = isinstance(error, UnsoundError)
        short = error is not None and out_of_memory(error)
        while self._next < len(self._rungs):
            rung = self._rungs[self._next]
            self._next += 1
            exacter = failed is not None and failed.half and not rung.half
            if (rung.only_memory and not short) or (inexact and not exacter):
                continue
            try:
                network = self._open(rung)
                self.seconds = warm_up(network)
            except Exception as problem:  # noqa: BLE001 - whatever a provider raises is the reason
                short = short or out_of_memory(problem)
                self.refusals.append(Refusal(rung.name, reason(problem)))
                continue
            self._current = rung
            return network
        last = self.refusals[-1].reason if self.refusals else "there is nothing to run it on"
        raise ModelError(f"The network can't be run: {last}", "See what is missing with: kawari doctor")


class Steps:
    """Several versions of one network, each with its ladder; the next is opened when one has no rung left.

    Args:
        climbs: make the ladders, from the preferred version to the surest.
    """

    def __init__(self, climbs: Sequence[Callable[[], Climb]]) -> None:
        self._climbs = list(climbs)
        self._climb = self._climbs.pop(0)()

    @property
    def rung(self) -> str:
        """The name of the rung in use, "" if there is none."""
        return self._climb.rung

    @property
    def seconds(self) -> float:
        """What one run took in the warm-up on the rung in use."""
        return self._climb.seconds

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """What was tried in vain with the version in use."""
        return tuple(self._climb.refusals)

    def step(self, error: Exception | None = None) -> Network:
        """See `Climb.step`."""
        while True:
            try:
                return self._climb.step(error)
            except ModelError:
                if not self._climbs:
                    raise
                self._climb, error = self._climbs.pop(0)(), None


class UnsoundError(ModelError):
    """A network gave no picture: not a number, or one flat colour."""


def out_of_memory(error: Exception) -> bool:
    """Whether a provider's error means that memory ran out."""
    text = str(error).lower()
    words = (
        "out of memory",
        "failed to allocate",
        "bad_alloc",
        "cuda failure 2:",
        "cuda_error_out_of_memory",
    )
    return isinstance(error, MemoryError) or any(word in text for word in words)


def reason(error: Exception) -> str:
    """Why, in one line."""
    if isinstance(error, ModelError):
        return error.message
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
