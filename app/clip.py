"""The pipeline over a clip: warmed up before the first frame, and counting what it could not swap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.types import Frame, Output, Shown

if TYPE_CHECKING:
    from engine.content.watch import ContentWatch
    from engine.pipeline import Pipeline

_STEPS, _STEP_S = 6, 0.05


class ClipProcess:
    """What `engine.export.export` calls for each frame.

    Live, the leak guard covers the first moments, until it is sure who is there, and the swapper
    settles meanwhile. A clip has no such moments to give away: its first frame is shown to the
    pipeline a few times beforehand, as if the clip had begun a third of a second earlier.

    Args:
        pipeline: makes the outputs.
        watch: looks at them, if somebody must; raises if they may not be written.

    Attributes:
        shown: number of frames by what they show.
    """

    def __init__(self, pipeline: Pipeline, watch: ContentWatch | None = None) -> None:
        self._pipeline = pipeline
        self._watch = watch
        self._warm = False
        self.shown: Counter[Shown] = Counter()

    def __call__(self, frame: Frame) -> Output:
        """Make the output of the next frame."""
        (output,) = self.stream([frame])
        return output

    def stream(self, frames: Iterable[Frame]) -> Iterator[Output]:
        """The outputs of frames in order, as many under way at once as the pipeline takes."""
        for output in self._pipeline.stream(self._warmed(frames)):
            if self._watch is not None:
                self._watch.write(output)
            self.shown[output.shown] += 1
            yield output

    def _warmed(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        for frame in frames:
            if not self._warm:
                self._warm = True
                for step in range(_STEPS, 0, -1):
                    self._pipeline.process(replace(frame, pts=(frame.pts or 0.0) - step * _STEP_S))
            yield frame

    def settle(self) -> None:
        """All frames are made: the last word on what was seen, see `ContentWatch.settle`."""
        if self._watch is not None:
            self._watch.settle()

    @property
    def covered(self) -> int:
        """Frames in which a face could not be swapped, and the leak guard acted."""
        return self.shown[Shown.COVERED] + self.shown[Shown.HELD]
