"""Puts the marks on whatever leaves a pipeline, and counts what its stages get wrong."""

from __future__ import annotations

import threading
from typing import Protocol

from engine.events import Report
from engine.types import Image

_CARD_S = 0.2
"""Longest time that drawing a card waits for a marker that is busy, or hangs, on another thread."""


class Marker(Protocol):
    """Puts the marks on a finished picture; see `engine.mark`."""

    def apply(self, image: Image) -> None:
        """Mark `image` (uint8, H×W×3, BGR) in place."""
        ...


class Faults:
    """What the stages of one pipeline got wrong; each bout of faults is told once.

    Attributes:
        errors: times each stage raised.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._failing: set[str] = set()
        self.errors: dict[str, int] = {}

    def failed(self, stage: str, error: Exception) -> None:
        """A stage raised."""
        self.errors[stage] = self.errors.get(stage, 0) + 1
        if stage not in self._failing:
            self._failing.add(stage)
            self._report("stage-failed", str(error), stage=stage, error=type(error).__name__)

    def recovered(self, stage: str) -> None:
        """A stage did its work."""
        if stage in self._failing:
            self._failing.discard(stage)
            self._report("stage-recovered", stage=stage)


class Marking:
    """The marker of one pipeline, which draws frames on one thread and cards on others.

    It knows nothing of the pipeline: a pair that knew each other would keep the models of one that was
    given up until Python's collector comes by, which may be hours.

    Args:
        marker: None for no marks (tests).
        faults: told of cards that could not be marked.
    """

    def __init__(self, marker: Marker | None, faults: Faults) -> None:
        self._marker = marker
        self._faults = faults
        self._lock = threading.Lock()

    def frame(self, image: Image) -> None:
        """Mark a frame in place; raises what the marker raises, for an unmarked frame must not leave."""
        if self._marker is not None:
            with self._lock:
                self._marker.apply(image)

    def card(self, card: Image) -> None:
        """Mark a card in place if it can be. One shows nobody: better unmarked than not at all."""
        if self._marker is None or not self._lock.acquire(timeout=_CARD_S):
            return
        try:
            self._marker.apply(card)
        except Exception as error:  # noqa: BLE001 - cards are drawn where nothing may raise
            self._faults.failed("mark", error)
        finally:
            self._lock.release()
