"""Swaps the wanted faces of one stream, and remembers for each what its swapper needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.blend.modes import Paster
from engine.blend.paste import paste
from engine.guard.proof import replaced
from engine.quality import Quality
from engine.swap.base import FaceSwap, FrameSwapper, Job, Made, Swapper, UnderWay, one_by_one
from engine.types import Face, Image

_FORGET_S = 3.0
"""What a swapper remembers of a face is kept this long after it was last seen."""


@dataclass(slots=True)
class _Follow:
    identity: object
    swap: FaceSwap
    seen_s: float


@dataclass(slots=True)
class Begun:
    """A frame whose swap was begun; made by `Swapping.begin`, used up by `Swapping.finish`.

    Attributes:
        frame: the untouched frame.
        jobs: the faces to swap.
        strength: see `Plan`.
        errors: what went wrong so far.
        away: the frame on a device, if it is on one.
    """

    frame: Image
    jobs: list[Job]
    strength: float
    errors: list[Exception] = field(default_factory=list)
    away: UnderWay | None = None


class Swapping:
    """The swap and blend stages; used by one thread.

    Args:
        swapper: makes the patches.
        join: puts them into frames.
    """

    def __init__(self, swapper: Swapper[Any], join: Paster = paste) -> None:
        self.swapper = swapper
        self._join = join
        self._whole = swapper if isinstance(swapper, FrameSwapper) else None
        self._follows: dict[int, _Follow] = {}

    @property
    def depth(self) -> int:
        """How many frames may be begun before the oldest is finished."""
        return self._whole.depth if self._whole is not None and self._join is paste else 1

    def reset(self) -> None:
        """Forget all faces."""
        self._follows.clear()

    def begin(
        self,
        frame: Image,
        wanted: Sequence[tuple[Face, object]],
        strength: float,
        quality: Quality,
        now_s: float,
    ) -> Begun:
        """Begin to swap: what runs on a device is queued there, nothing is waited for.

        Args:
            frame: the untouched frame.
            wanted: faces in its pixels, and the identity that each becomes.
            strength, quality: see `Plan`.
            now_s: the frame's time, seconds.
        """
        begun = Begun(frame, [], strength)
        for face, identity in wanted:
            try:
                swap = self._follow(face.id, identity, now_s)
            except Exception as error:  # noqa: BLE001 - the other faces go on
                begun.errors.append(error.with_traceback(None))
                continue
            give_quality(swap, quality)
            begun.jobs.append(Job(face, swap))
        if self._whole is not None and self._join is paste and begun.jobs:
            begun.away = self._whole.begin(frame, begun.jobs)
        self._tidy(now_s)
        return begun

    def finish(self, begun: Begun, lap: Callable[[str], None]) -> tuple[Image, list[int]]:
        """Wait for the device, and swap on the host what was not swapped there.

        Args:
            begun: from `begin`; its `errors` grow by each face that could not be swapped.
            lap: called when a stage ("swap", "blend") is done.

        Returns:
            The picture, and the ids of the faces that were really replaced in it, see
            `engine.guard.proof`.
        """
        found = begun.away.collect() if begun.away is not None else None
        image, swapped = found or (begun.frame.copy(), [])
        jobs = [job for job in begun.jobs if job.face.id not in swapped]
        lap("swap")
        for job, made in zip(jobs, self._made(begun, jobs), strict=True):
            lap("swap")
            try:
                if self._joined(begun.frame, image, job.face, made):
                    swapped.append(job.face.id)
            except Exception as error:  # noqa: BLE001 - whatever a stage does, no frame may leak
                # its traceback leads back here: the pictures of every failing frame would live on
                begun.errors.append(error.with_traceback(None))
                self._follows.pop(job.face.id, None)
            lap("blend")
        return image, swapped

    def _made(self, begun: Begun, jobs: Sequence[Job]) -> Iterable[Made]:
        if self._whole is None or not jobs:
            return one_by_one(begun.frame, jobs, begun.strength)
        try:
            return self._whole.patches(begun.frame, jobs, begun.strength)
        except Exception as error:  # noqa: BLE001
            return [error] * len(jobs)

    def _joined(self, frame: Image, image: Image, face: Face, made: Made) -> bool:
        if isinstance(made, Exception):
            raise made
        if made is None or not replaced(frame, face, made):
            return False
        self._join(image, made)
        return True

    def _tidy(self, now_s: float) -> None:
        """Forget faces that have been away for long."""
        for key in [key for key, one in self._follows.items() if now_s - one.seen_s > _FORGET_S]:
            del self._follows[key]

    def _follow(self, face_id: int, identity: object, now_s: float) -> FaceSwap:
        known = self._follows.get(face_id)
        if known is None or known.identity is not identity:
            known = _Follow(identity, self.swapper.follow(identity), now_s)
            self._follows[face_id] = known
        known.seen_s = now_s
        return known.swap


def give_quality(part: object, quality: Quality) -> None:
    """Hand the controller's hints to a part that heeds them."""
    if hasattr(part, "quality"):
        part.quality = quality
