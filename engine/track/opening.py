"""Opens a detector of the catalogue; the embedded one takes over when it fails."""

from __future__ import annotations

from engine.catalog.entry import Kind
from engine.catalog.opening import Opener, on_rung, open_steps
from engine.catalog.store import Store
from engine.errors import ModelError
from engine.events import Report, silent
from engine.runtime.climb import Steps, reason
from engine.track.base import FaceDetector
from engine.track.scrfd import Scrfd
from engine.types import Detection, Image


def open_detector(
    name: str, store: Store, embedded: FaceDetector, report: Report = silent, opener: Opener = on_rung
) -> SteppingDetector:
    """The detector of that name, ready to run.

    Args:
        name: of the entry.
        store: the user's models.
        embedded: looks while and after the other one fails.
        report: takes "detector-fallback".
        opener: opens models.

    Raises:
        ModelError: it is no detector, its file is missing or wrong, or nothing here can run it.
    """
    steps, session = open_steps(store, name, Kind.DETECTOR, opener)
    return SteppingDetector(name, steps, Scrfd(session), embedded, report)


class SteppingDetector:
    """A detector that leaves the rest to the embedded one from its first failure on.

    A detector that is opened anew would stop the tracker for seconds; the embedded one is always there.
    """

    def __init__(
        self, name: str, steps: Steps, chosen: FaceDetector, embedded: FaceDetector, report: Report
    ) -> None:
        self._name = name
        self._steps = steps
        self._chosen: FaceDetector | None = chosen
        self._embedded = embedded
        self._report = report

    def detect(self, image: Image, *, min_score: float | None = None, turn: int = 0) -> list[Detection]:
        """See `engine.track.base.FaceDetector`."""
        if self._chosen is not None:
            try:
                return self._chosen.detect(image, min_score=min_score, turn=turn)
            except Exception as error:  # noqa: BLE001 - whatever a provider raises
                self._chosen = None
                why = error.message if isinstance(error, ModelError) else reason(error)
                message = f"{self._name} failed on {self._steps.rung} ({why}); the built-in detector goes on"
                self._report("detector-fallback", message, rung=self._steps.rung)
        return self._embedded.detect(image, min_score=min_score, turn=turn)
