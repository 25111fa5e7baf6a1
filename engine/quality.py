"""Quality steps: what the controller may ask of the tracker and of the swapper to save time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quality:
    """A frozen set of hints; a part without a use for a hint ignores it.

    The pipeline assigns it to the attribute `quality` of every tracker and `FaceSwap` that has one.

    Attributes:
        name: one word for people and logs.
        detect_every: the detector searches for new faces on every n-th frame while faces are
            followed (always on each frame while none is).
        fast_landmarks: the 468-point network (no irises), about half the cost of the 478-point one.
        grid: resolution of the mesh raster, masks and colour maps relative to the best, 0..1.
        expression: transfer the target's fine expression (frowns, smile folds).
        enhance: the enhancer of a neural swapper runs that many times less often.
        swap_every: swap every n-th frame only; the frames between are dropped before tracking.
    """

    name: str = "best"
    detect_every: int = 8
    fast_landmarks: bool = False
    grid: float = 1.0
    expression: bool = True
    enhance: int = 1
    swap_every: int = 1


LADDER: tuple[Quality, ...] = (
    Quality(),
    Quality("high", enhance=2, detect_every=15, expression=False),
    Quality("good", enhance=3, detect_every=20, expression=False, fast_landmarks=True),
    Quality("fair", enhance=4, detect_every=20, expression=False, fast_landmarks=True, grid=0.75),
    Quality(
        "half", enhance=6, detect_every=20, expression=False, fast_landmarks=True, grid=0.75, swap_every=2
    ),
    Quality(
        "third", enhance=8, detect_every=20, expression=False, fast_landmarks=True, grid=0.75, swap_every=3
    ),
)
"""From the best to the cheapest; each step keeps all savings of the one before."""
