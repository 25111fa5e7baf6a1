"""The content check at the import of a photo."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from engine.content.nudity import NudityCheck
from engine.types import Image


class PhotoGate:
    """Refuses photos that show nudity; called by `engine.identity.import_photo.PhotoReader`.

    The network is loaded (half a second) only when the first unknown photo comes.

    Args:
        known: whether the photo of that digest has passed before.
    """

    def __init__(self, known: Callable[[str], bool]) -> None:
        self._known = known

    def __call__(self, digest: str, picture: Image) -> None:
        """Let the photo pass, or raise.

        Args:
            digest: of the photo.
            picture: the whole picture, uint8, H×W×3, BGR.

        Raises:
            RefusedError: it shows nudity.
            ModelError: the check can't be made.
        """
        if not self._known(digest):
            self._check.require_clean(picture)

    @cached_property
    def _check(self) -> NudityCheck:
        return NudityCheck()
