"""What every swapper promises.

Preparing an identity is slow and cached; following one face with it is fast. Whatever a swapper
remembers of a face from frame to frame (illumination, expression, neutral shape) lives in the
`FaceSwap` that `follow` gives, so that faces, streams and threads never mix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

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


@dataclass(frozen=True, slots=True)
class Job:
    """One face to swap in one frame.

    Attributes:
        face: the face, in the frame's pixels.
        swap: what `Swapper.follow` gave for it.
    """

    face: Face
    swap: Any


Made = Patch | Exception | None
"""What became of one face: see `FaceSwap.patch`; an exception that it raised."""


class UnderWay(Protocol):
    """A frame that is being swapped on a device."""

    @property
    def ready(self) -> bool:
        """True once `collect` need not wait."""
        ...

    def collect(self) -> tuple[Image, list[int]] | None:
        """Wait for it; called once.

        Returns:
            The frame, uint8, H×W×3, BGR, a copy that the caller may write to, and the ids of the faces
            proven to be replaced in it; None if the device failed: nothing of it may leave.
        """
        ...


@runtime_checkable
class FrameSwapper(Protocol):
    """What a swapper may offer besides: all faces of a frame together, and frames on a device.

    Attributes:
        depth: how many frames may be begun before the oldest is collected; 1 where none lives on a device.
    """

    @property
    def depth(self) -> int:
        """See the class."""
        ...

    def begin(self, frame: Image, jobs: Sequence[Job]) -> UnderWay | None:
        """Queue a frame on the device; None if the host must do it. Never raises."""
        ...

    def patches(self, frame: Image, jobs: Sequence[Job], strength: float) -> Iterable[Made]:
        """What `FaceSwap.patch` gives for each job, in their order, on the host."""
        ...


def one_by_one(frame: Image, jobs: Sequence[Job], strength: float) -> Iterator[Made]:
    """Each job by its own `FaceSwap.patch`."""
    for job in jobs:
        try:
            made: Made = job.swap.patch(frame, job.face, strength)
        except Exception as error:  # noqa: BLE001 - the other faces go on
            made = error
        yield made
