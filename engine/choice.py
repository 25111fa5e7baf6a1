"""The simple choices of faces; `engine.track.persons` has those that know people again."""

from __future__ import annotations

from collections.abc import Mapping

from engine.types import Face, Image

_LARGER = 1.25
"""A face must be this much wider to take over: two people side by side don't take turns."""


class Everyone:
    """The safest choice: every face is wanted, all get the same identity."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def select(self, image: Image, faces: tuple[Face, ...]) -> Mapping[int, str]:
        """See `engine.track.base.Choice`."""
        del image
        return {face.id: self._name for face in faces}


class Largest:
    """Only the largest face; others are shown as they are."""

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._chosen: int | None = None

    def select(self, image: Image, faces: tuple[Face, ...]) -> Mapping[int, str]:
        """See `engine.track.base.Choice`."""
        del image
        if not faces:
            return {}
        largest = max(faces, key=lambda face: face.width)
        for face in faces:
            if face.id == self._chosen and largest.width < face.width * _LARGER:
                return {face.id: self._name}
        self._chosen = largest.id
        return {largest.id: self._name}
