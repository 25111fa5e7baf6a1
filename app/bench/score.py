"""Collects, frame by frame, what one source person on one clip looks like, and sums it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.bench import measures
from app.bench.identity import Embedding
from engine.types import Points

MOUTH_SPREAD = 0.01
"""Least standard deviation of the mouth opening (of the inter-ocular distance) to correlate."""
EYE_SPREAD = 0.02
"""The same for the eye opening (of the eye's width): about five times the landmarks' noise."""


@dataclass(frozen=True, slots=True)
class PairFigures:
    """One source person on one clip; None = could not be measured.

    Attributes:
        frames: looked at.
        swapped: of these, frames with a swapped face.
        nearer: share of frames nearer to the source person than to the target person.
        nearer_same: as `nearer`, but against the very frame that was swapped.
        gap: identity gap closed, see `measures.gap_closed`.
        mouth, eyes: Pearson's r of the openings, input to output.
        error: mean landmark error, over the inter-ocular distance.
        flicker: luminance unrest, output over input.
    """

    frames: int
    swapped: int
    nearer: float | None
    nearer_same: float | None
    gap: float | None
    mouth: float | None
    eyes: float | None
    error: float | None
    flicker: float | None


@dataclass(slots=True)
class PairScore:
    """Fed with what is seen in the input and in the output of the same frame.

    Args:
        source: embedding of the photo the swapper got.
        references: embeddings of independent photos of the same person; may be empty.
        target: embeddings of independent frames of the target person.
    """

    source: Embedding
    references: Sequence[Embedding]
    target: Sequence[Embedding]
    frames: int = 0
    swapped: int = 0
    nearer: list[bool] = field(default_factory=list)
    nearer_same: list[bool] = field(default_factory=list)
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    mouth: list[tuple[float, float]] = field(default_factory=list)
    eyes: list[tuple[float, float]] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    light: list[tuple[float, float]] = field(default_factory=list)

    def add(
        self,
        before: Points,
        after: Points | None,
        *,
        intended: Points | None,
        light: tuple[float, float],
    ) -> None:
        """One frame.

        Args:
            before: landmarks seen in the input.
            after: landmarks seen in the output; None if no face is to be seen there any more.
            intended: where the swapper meant to put them, (≥ 468, 2 or 3) pixels; None if it gave
                no patch.
            light: mean luminance of the face's region, input and output.
        """
        self.frames += 1
        self.swapped += intended is not None
        self.light.append(light)
        if after is None:
            return
        self.mouth.append((measures.mouth_opening(before), measures.mouth_opening(after)))
        self.eyes.append((measures.eye_opening(before), measures.eye_opening(after)))
        if intended is not None:
            self.errors.append(measures.landmark_error(after, intended))

    def identify(self, before: Embedding, after: Embedding | None) -> None:
        """Whose face a frame shows: input and output; None if there is no face in the output."""
        if after is None:
            self.nearer.append(False)
            self.nearer_same.append(False)
            return
        people = self.references or [self.source]
        to_source = mean_distance(after, people)
        self.nearer.append(to_source < mean_distance(after, self.target))
        self.nearer_same.append(to_source < measures.cosine_distance(after, before))
        self.before.append(mean_distance(before, people))
        self.after.append(to_source)

    def figures(self) -> PairFigures:
        """The sums so far."""
        gap = None
        if self.references:  # against the photo itself the gap would flatter
            floor = mean_distance(self.source, self.references)
            gap = measures.gap_closed(self.before, self.after, floor)
        unrest = [measures.flicker([pair[i] for pair in self.light]) for i in (0, 1)]
        ratio = unrest[1] / max(unrest[0], 1e-6) if unrest[0] is not None and unrest[1] is not None else None
        return PairFigures(
            self.frames,
            self.swapped,
            measures.mean([float(yes) for yes in self.nearer]),
            measures.mean([float(yes) for yes in self.nearer_same]),
            gap,
            measures.correlation(*split(self.mouth), MOUTH_SPREAD),
            measures.correlation(*split(self.eyes), EYE_SPREAD),
            measures.mean(self.errors),
            ratio,
        )


def mean_distance(one: Embedding, others: Sequence[Embedding]) -> float:
    """Mean cosine distance to several embeddings."""
    return sum(measures.cosine_distance(one, other) for other in others) / len(others)


def split(pairs: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Input values and output values."""
    return [a for a, _ in pairs], [b for _, b in pairs]
