"""The content check at the import of a photo."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from engine.content.age import AgeCheck, open_age
from engine.content.nudity import NudityCheck
from engine.types import Face, Image


class PhotoGate:
    """Refuses photos that show nudity or a child; called by `engine.identity.import_photo.PhotoReader`.

    The nudity network is loaded (half a second) only when the first unknown photo comes.

    Args:
        known: whether the photo of that digest has passed before. Its age is checked all the same: the
            model for it may have come since.
        home: Kawari's folder, in which that model is looked for.
    """

    def __init__(self, known: Callable[[str], bool], home: Path) -> None:
        self._known = known
        self._home = home

    def __call__(self, digest: str, picture: Image, face: Face) -> None:
        """Let the photo pass, or raise.

        Args:
            digest: of the photo.
            picture: the whole picture, uint8, H×W×3, BGR.
            face: the one to be used, in its pixels.

        Raises:
            RefusedError: it shows nudity, or a child.
            ModelError: a check can't be made.
        """
        if self._age is not None:
            self._age.require_adult(picture, face)
        if not self._known(digest):
            self._nudity.require_clean(picture)

    @cached_property
    def _nudity(self) -> NudityCheck:
        return NudityCheck()

    @cached_property
    def _age(self) -> AgeCheck | None:
        return open_age(self._home)
