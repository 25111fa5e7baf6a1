"""Swaps the wanted faces of one stream, and remembers for each what its swapper needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.blend.modes import Paster
from engine.blend.paste import paste
from engine.guard.proof import replaced
from engine.quality import Quality
from engine.swap.base import FaceSwap, Swapper
from engine.types import Face, Image

_FORGET_S = 3.0
"""What a swapper remembers of a face is kept this long after it was last seen."""


@dataclass(slots=True)
class _Follow:
    identity: object
    swap: FaceSwap
    seen_s: float


class Swapping:
    """The swap and blend stages; used by one thread.

    Args:
        swapper: makes the patches.
        join: puts them into frames.
    """

    def __init__(self, swapper: Swapper[Any], join: Paster = paste) -> None:
        self.swapper = swapper
        self._join = join
        self._follows: dict[int, _Follow] = {}

    def reset(self) -> None:
        """Forget all faces."""
        self._follows.clear()

    def forget(self, face_id: int) -> None:
        """Forget one face, after its swapper failed."""
        self._follows.pop(face_id, None)

    def swap(
        self,
        frame: Image,
        image: Image,
        face: Face,
        identity: object,
        strength: float,
        quality: Quality,
        now_s: float,
        lap: Callable[[str], None],
    ) -> bool:
        """Swap one face.

        Args:
            frame: the untouched frame.
            image: the copy of it that is worked on; written to.
            face: the face, in its pixels.
            identity: who it becomes.
            strength, quality: see `Plan`.
            now_s: the frame's time, seconds.
            lap: called when a stage ("swap", "blend") is done.

        Returns:
            True if the face was really replaced, see `engine.guard.proof`.
        """
        swap = self._follow(face.id, identity, now_s)
        give_quality(swap, quality)
        patch = swap.patch(frame, face, strength)
        lap("swap")
        done = patch is not None and replaced(frame, face, patch)
        if patch is not None and done:
            self._join(image, patch)
        lap("blend")
        return done

    def tidy(self, now_s: float) -> None:
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
