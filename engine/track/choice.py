"""Chooses which faces to swap, and with whom."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.track.pose import head_pose
from engine.track.topology import LEFT_EYE, RIGHT_EYE
from engine.types import Face, Points


class Which(enum.Enum):
    """Which of the faces in the picture are swapped."""

    LARGEST = "largest"
    ALL = "all"
    PERSONS = "persons"
    """Only those named in `FaceChoice.sources`."""


@dataclass(frozen=True, slots=True)
class FaceChoice:
    """What the user wants.

    Attributes:
        which: see `Which`.
        source: index of the source for LARGEST and ALL.
        sources: source index per person (`Face.id`), for PERSONS.
        skip_pictures: a face that has neither turned, blinked nor spoken for a while (a poster, a
            photo on a wall) is not the largest.
    """

    which: Which = Which.LARGEST
    source: int = 0
    sources: Mapping[int, int] = field(default_factory=dict)
    skip_pictures: bool = True

    @classmethod
    def only(cls, person: int, source: int = 0) -> FaceChoice:
        """Swap this person and nobody else."""
        return cls(Which.PERSONS, sources={person: source})

    def for_strangers(self) -> FaceChoice:
        """What is left of the choice where nobody is known any more: of persons, everybody."""
        if self.which is not Which.PERSONS:
            return self
        return FaceChoice(Which.ALL, min(self.sources.values(), default=0))


_SWITCH = 1.3
"""So many times wider another face must be to become the largest."""
_PATIENCE = 0.5
"""Seconds that the largest face may be gone before another takes its place."""
_PICTURE_AFTER = 2.0
"""Seconds without any life after which a face counts as a picture."""
_ALIVE = 0.08
"""Change of the openings of eyes and mouth (over the eye's width) or of the pose (over 50°) that a
picture does not show, even when the camera moves."""
_ENDS = np.array([RIGHT_EYE[[0, 8]], RIGHT_EYE[[4, 12]], LEFT_EYE[[4, 12]], [13, 14]]).T
"""Corners of an eye; upper and lower lid of both; upper and lower lip."""


@dataclass(slots=True)
class _Life:
    """How much a face has changed since `since`."""

    since: float
    shape: Points
    alive: bool = False


class Chooser:
    """Applies a choice to the faces of one stream, frame by frame; not thread-safe.

    Args:
        choice: may be replaced at any time.
    """

    def __init__(self, choice: FaceChoice | None = None) -> None:
        self.choice = choice or FaceChoice()
        self._largest: int | None = None
        self._seen = 0.0
        self._lives: dict[int, _Life] = {}

    def select(self, faces: Sequence[Face], time: float) -> dict[int, int]:
        """Which faces to swap.

        Args:
            faces: as the tracker gave them.
            time: seconds.

        Returns:
            Source index by `Face.id`; faces not in it stay as they are.
        """
        choice = self.choice
        if choice.which is Which.ALL:
            return {face.id: choice.source for face in faces}
        if choice.which is Which.PERSONS:
            return {face.id: choice.sources[face.id] for face in faces if face.id in choice.sources}
        face = self._pick_largest(faces, time)
        return {} if face is None else {face.id: choice.source}

    def _pick_largest(self, faces: Sequence[Face], time: float) -> Face | None:
        self._watch(faces, time)
        living = [face for face in faces if not self._is_picture(face, time)] or list(faces)
        present = next((face for face in living if face.id == self._largest), None)
        if present is None and self._largest is not None and time - self._seen < _PATIENCE:
            if any(face.id == self._largest for face in faces):
                self._largest = None
            else:
                return None
        if not living:
            return None
        widest = max(living, key=lambda face: face.width)
        if present is None or widest.width > _SWITCH * present.width:
            present = widest
        self._largest, self._seen = present.id, time
        return present

    def _watch(self, faces: Sequence[Face], time: float) -> None:
        for face in faces:
            shape = _shape(face)
            life = self._lives.get(face.id)
            if life is None:
                self._lives[face.id] = _Life(time, shape)
            elif np.abs(shape - life.shape).max() > _ALIVE:
                life.since, life.shape, life.alive = time, shape, True

    def _is_picture(self, face: Face, time: float) -> bool:
        """Never showed life; a person who keeps still stays a person."""
        life = self._lives[face.id]
        return self.choice.skip_pictures and not life.alive and time - life.since > _PICTURE_AFTER


def _shape(face: Face) -> Points:
    """Openings of eyes and mouth over an eye's width; pose over 50°."""
    ends = face.landmarks[_ENDS, :2]
    eye, *openings = np.hypot(*(ends[0] - ends[1]).T).tolist()
    openings = [opening / (eye + 1e-6) for opening in openings]
    return np.array([*openings, *(angle / 50 for angle in head_pose(face.landmarks))], np.float32)
