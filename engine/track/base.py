"""What the pipeline expects of a tracker, and the tracker of a detector."""

from __future__ import annotations

from typing import Protocol

from engine.types import Detection, Face, Frame, Image

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in frame pixels."""


class FaceDetector(Protocol):
    """Finds faces in whole pictures; used by one thread."""

    def detect(self, image: Image, *, min_score: float | None = None, turn: int = 0) -> list[Detection]:
        """Faces in the picture, the surest first.

        Args:
            image: uint8, H×W×3, BGR.
            min_score: overrides the detector's own threshold.
            turn: look at it turned by so many quarters counter-clockwise (as `numpy.rot90`): for
                faces that lie or stand on their head. What is found comes in pixels of `image`.
        """
        ...


class FaceTracker(Protocol):
    """Follows the faces of one stream; used by one thread.

    A tracker may have a writable attribute `quality: engine.quality.Quality`; the pipeline sets it
    before each `update`.
    """

    @property
    def looked(self) -> bool:
        """True if the detector searched the whole of the last frame.

        The leak guard takes "no face" for proof only then; a tracker that follows no face therefore
        looks at every frame, and in all turns.
        """
        ...

    @property
    def doubtful(self) -> tuple[Box, ...]:
        """Where the last frame seems to show a face that `update` did not return.

        Seen by the detector but not confirmed by the landmarks, or followed until now and not found
        again. The leak guard treats them as faces that could not be swapped.
        """
        ...

    def update(self, frame: Frame) -> tuple[Face, ...]:
        """Find the faces of the next frame."""
        ...

    def reset(self) -> None:
        """Forget all faces: the next frame comes from another source."""
        ...
