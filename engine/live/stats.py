"""What a session tells about itself: an immutable snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from engine.live.delivery import SinkStats
from engine.metrics import Percentiles

_SEEN = ("virtual camera", "browser", "preview")
"""Sinks whose pictures others see live, the most likely first."""


@dataclass(frozen=True, slots=True)
class Stats:
    """A session in figures, from its start to now.

    Attributes:
        state: see `engine.live.state.State`.
        reason: see `engine.live.state.FinishReason`; empty while it is not finished.
        seconds: since the start.
        frames_in: frames the present source delivered.
        frames_out: pictures that left, cards not counted.
        fps: pictures that leave per second now.
        delay: from capture to the moment a picture leaves for the sinks.
        stages: wall time of each stage.
        drops: frames that did not leave, by reason: "newer" (a newer one came before the engine was
            ready), "late" (older than the hard limit), "cadence" (the controller's half rate),
            "stale" (of a source or worker that was given up), "corrupt" (no picture), "order".
        faces: faces in the last picture.
        swapped: those that were swapped.
        shown: what the last picture shows, see `engine.types.Shown`.
        guard: pictures by what they showed.
        errors: times each stage raised.
        quality: name of the controller's present step, `quality_step` its index, `quality_moves`
            the steps taken.
        restarts: of the camera, the engine and the sinks.
        sinks: each sink's own figures; its `delay` is the glass-to-sink delay.
        panic: only the card leaves.
    """

    state: str = ""
    reason: str = ""
    seconds: float = 0.0
    frames_in: int = 0
    frames_out: int = 0
    fps: float = 0.0
    delay: Percentiles = field(default_factory=Percentiles)
    stages: Mapping[str, Percentiles] = field(default_factory=dict)
    drops: Mapping[str, int] = field(default_factory=dict)
    faces: int = 0
    swapped: int = 0
    shown: str = ""
    guard: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    quality: str = ""
    quality_step: int = 0
    quality_moves: int = 0
    restarts: Mapping[str, int] = field(default_factory=dict)
    sinks: tuple[SinkStats, ...] = ()
    panic: bool = False
    abandoned: tuple[str, ...] = ()

    @property
    def sound_delay_ms(self) -> float:
        """How late a voice must be to match the picture that others see now; 0 before the first.

        It is the usual age of the last pictures at the virtual camera, else at the browser page, else in
        the window, else at the quickest sink.
        """
        ages = {sink.name: sink.recent_ms for sink in self.sinks if not sink.failed and sink.recent_ms}
        return next((ages[name] for name in _SEEN if name in ages), min(ages.values(), default=0.0))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"sound_delay_ms": self.sound_delay_ms}
