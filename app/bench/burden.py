"""What makes a live session's work harder while it runs: a dearer swapper, other work on the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from engine.identity.photo import SourcePhoto
from engine.quality import Quality
from engine.swap.base import FaceSwap, Swapper
from engine.types import Face, Image, Patch

_SPIN = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n    for _ in range(200_000): pass"
"""Keeps one core busy, and ends with the process that started it."""


class DearerSwap:
    """A face swap that does its real work several times over."""

    def __init__(self, swap: FaceSwap, swapper: DearerSwapper) -> None:
        self._swap, self._swapper = swap, swapper

    @property
    def quality(self) -> Quality:
        """The controller's hints, for the real work."""
        found: Quality = self._swap.quality  # type: ignore[attr-defined]
        return found

    @quality.setter
    def quality(self, quality: Quality) -> None:
        self._swap.quality = quality  # type: ignore[attr-defined]

    def patch(self, image: Image, face: Face, strength: float) -> Patch | None:
        """See `FaceSwap`."""
        for _ in range(self._swapper.more):
            self._swap.patch(image, face, strength)
        return self._swap.patch(image, face, strength)


class DearerSwapper:
    """A swapper whose cost may change at any moment.

    Attributes:
        more: so many times the work is done again.
    """

    def __init__(self, swapper: Swapper[Any]) -> None:
        self.name = swapper.name
        self.more = 0
        self._swapper = swapper

    def prepare(self, photos: Sequence[SourcePhoto]) -> Any:
        """See `Swapper`."""
        return self._swapper.prepare(photos)

    def follow(self, identity: Any) -> DearerSwap:
        """See `Swapper`."""
        return DearerSwap(self._swapper.follow(identity), self)


class Hogs:
    """Processes that use up the processor; none is left after `stop`, nor after this process."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, count: int) -> None:
        """Begin."""
        words = [sys.executable, "-S", "-c", _SPIN, str(os.getpid())]
        self._running += [subprocess.Popen(words) for _ in range(count)]

    def stop(self) -> None:
        """End."""
        for one in self._running:
            one.kill()
            one.wait()
        self._running = []
