"""What every swapper promises.

Preparing an identity is slow and cached; following one face with it is fast. Whatever a swapper
remembers of a face from frame to frame (illumination, expression, neutral shape) lives in the
`FaceSwap` that `follow` gives, so that faces, streams and threads never mix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from engine.identity.photo import SourcePhoto
from engine.types import Face, Image, Patch

IdentityT = TypeVar("IdentityT")


class FaceSwap(Protocol):
    """Swaps one followed face; not thread-safe."""

    def patch(self, image: Image, face: Face, strength: float) -> Patch | None:
        """Make the patch for one frame.

        Args:
            image: the whole frame, uint8, H×W×3, BGR; not written to.
            face: the face to replace, in this frame's pixels.
            strength: 0..1, how far the face's *shape* goes to the source's; the skin is always
                the source's.

        Returns:
            The patch, or None if this face can't be swapped in this frame (turned away too far,
            outside the picture): the leak guard then decides.
        """
        ...


class Swapper(Protocol, Generic[IdentityT]):
    """A way to swap faces: `mesh`, or a neural model of the catalogue.

    A swapper whose identities are dataclasses of arrays may name their class as `identity_type`:
    `engine.identity.library` then keeps them on disk. One that has something to tell may have a writable
    attribute `report: engine.events.Report`: the pipeline sets it.
    """

    name: str

    def prepare(self, photos: Sequence[SourcePhoto]) -> IdentityT:
        """Turn one to five photos of the same person into an identity.

        Raises `InputError` if the photos can't be used together.
        """
        ...

    def follow(self, identity: IdentityT) -> FaceSwap:
        """Start swapping one face in one stream."""
        ...
