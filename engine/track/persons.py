"""Gives every followed face the id of its person, through crossings, leaving and returning.

Tracks are linked to persons by appearance with one optimal assignment (H. W. Kuhn, "The Hungarian
method for the assignment problem", 1955): a new track to a person who is away or to a new one; an
old track to another person only after something that may have mixed people up, as a crossing, and only
when that fits clearly better. A face that moves on undisturbed is the same person, whatever it looks like.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.track.appearance import AppearanceEncoder, Encoder, difference, skin_colours
from engine.track.assignment import assign
from engine.track.pose import head_pose
from engine.types import Face, Image

_EVERY = 6
"""Frames between two looks at a face that is alone and known."""
_ALERT = 12
"""Frames in which every face is looked at after something unusual."""
_NEAR = 1.4
"""Face widths between two faces' middles below which they may be mixed up."""
_LEARN, _DRIFT = 0.1, 0.02
"""How far a look moves what is known of a person: one that fits, one of an undisturbed face that does not,
for the light and the camera's white balance change slowly."""
_CUT = 12.0
"""Median change of the skin's colours from one frame to the next, levels, that tells a cut: up to 9 on faces
in a dozen clips, from 14 between their persons."""
_MAX_YAW = 40.0
"""Degrees; a face turned further looks too different."""
_RECENT = 5.0
"""Seconds."""
_PROVISIONAL = 3.0
"""Seconds for which a link is doubted when it is new or something came between: a new person is given up
again for an older one that fits, an older one for a new one."""
_STRANGER = 1.5
"""Times the encoder's limit, beyond which a followed face can't be the person it was taken for."""
_DOUBTED = 0.85
"""The same for a face that was linked less than `_PROVISIONAL` ago."""
_KEPT = 0.8
"""The least that a doubted new person counts as: less than a stranger, more than an older one that fits."""
_NEVER = 1e6
_CLEARLY = 0.3
"""Of the encoder's limit and per track, what an exchange must gain: twice in a row, or double."""


@dataclass(slots=True)
class _Person:
    id: int
    looks: NDArray[np.float32]
    doubted_until: float
    seen: float


class Persons:
    """Who is who in one stream; not thread-safe.

    Args:
        encoder: describes a face; by default colours and proportions.
        remember: so many persons are kept; who has been away longest is forgotten.
    """

    def __init__(self, encoder: Encoder | None = None, *, remember: int = 32) -> None:
        self._encoder: Encoder = encoder or AppearanceEncoder()
        self._remember = remember
        self.reset()

    def reset(self) -> None:
        """Forget everyone; ids count from 0 again."""
        self._persons: dict[int, _Person] = {}
        self._links: dict[int, int] = {}
        self._since: dict[int, float] = {}
        self._doubted_until: dict[int, float] = {}
        self._colours: dict[int, NDArray[np.int16]] = {}
        self._next = 0
        self._alert = 0
        self._frame = 0
        self._wish: dict[int, int] = {}

    def identify(self, image: Image, faces: Sequence[Face], time: float) -> tuple[Face, ...]:
        """The same faces with their persons' ids.

        Args:
            image: uint8, H×W×3, BGR.
            faces: of this frame, their `id` being the track's.
            time: seconds.

        Returns:
            Faces in the same order, no two with the same id. A face that is only carried by flow is
            left out when its person was found elsewhere.
        """
        self._frame += 1
        self._links = {face.id: self._links[face.id] for face in faces if face.id in self._links}
        self._since = {track: self._since.get(track, -math.inf) for track in self._links}
        new = [face for face in faces if face.id not in self._links]
        near = _any_near(faces)
        self._doubt(image, faces, near, time)
        if new or near:
            self._alert = _ALERT
        self._alert -= 1
        if self._alert >= 0 or self._frame % _EVERY == 0:
            unknown = {face.id for face in new}
            looks = {
                face.id: self._encoder.encode(image, face.landmarks)
                for face in faces
                if face.id in unknown or _shows(face)
            }
            carried = {face.id for face in faces if face.carried} - unknown
            self._link_new(new, looks, carried, time)
            self._relink(looks, carried, near, time)
            if not near:
                self._learn(looks, time)
        known = [face for face in faces if face.id in self._links]
        for face in known:
            self._persons[self._links[face.id]].seen = time
        return tuple(replace(face, id=self._links[face.id]) for face in known)

    def _doubt(self, image: Image, faces: Sequence[Face], near: bool, time: float) -> None:
        """Note for which tracks something came between that may have put them on another face."""
        before, self._colours = (
            self._colours,
            {face.id: skin_colours(image, face.landmarks) for face in faces},
        )
        self._doubted_until = {face.id: self._doubted_until.get(face.id, -math.inf) for face in faces}
        for face in faces:
            cut = face.id in before and np.median(np.abs(self._colours[face.id] - before[face.id])) > _CUT
            if near or face.carried or cut:
                self._doubted_until[face.id] = time + _PROVISIONAL
            if cut:
                self._alert = _ALERT

    def _link_new(
        self, new: list[Face], looks: dict[int, NDArray[np.float32]], carried: set[int], time: float
    ) -> None:
        """Link new tracks to persons who are away, or only carried by flow, or not known yet."""
        if not new:
            return
        holders = {person: track for track, person in self._links.items()}
        free = [p for p in self._persons.values() if holders.get(p.id, -1) in carried | {-1}]
        cost = np.full((len(new), len(free) + len(new)), self._encoder.limit)
        for i, face in enumerate(new):
            for j, person in enumerate(free):
                # Who was here a moment ago and comes back is often half hidden yet.
                trust = 0.5 if time - person.seen < _RECENT else 1.0
                cost[i, j] = trust * difference(looks[face.id], person.looks)
        for i, j in enumerate(assign(cost)):
            if self._persons:  # else there is nobody who it could be instead
                self._since[new[i].id], self._doubted_until[new[i].id] = time, time + _PROVISIONAL
            if j < len(free):
                self._links.pop(holders.get(free[j].id, -1), None)
                self._links[new[i].id] = free[j].id
            else:
                self._links[new[i].id] = self._add(looks[new[i].id], time, sure=not free)

    def _add(self, looks: NDArray[np.float32], time: float, *, sure: bool) -> int:
        if len(self._persons) >= self._remember:
            away = [p for p in self._persons.values() if p.id not in set(self._links.values())]
            if away:
                del self._persons[min(away, key=lambda p: p.seen).id]
        person = _Person(self._next, looks, -math.inf if sure else time + _PROVISIONAL, time)
        self._next += 1
        self._persons[person.id] = person
        return person.id

    def _relink(
        self, looks: dict[int, NDArray[np.float32]], carried: set[int], near: bool, time: float
    ) -> None:
        """Exchange persons between tracks, or with somebody away, where that fits clearly better."""
        tracks = [track for track in looks if track in self._links and time < self._doubted_until[track]]
        if not tracks:
            return
        limit = self._encoder.limit
        settled = {p for track, p in self._links.items() if track not in tracks and track not in carried}
        persons = [p for p in self._persons.values() if p.id not in settled]
        cost = np.array([[difference(looks[track], person.looks) for person in persons] for track in tracks])
        for j, person in enumerate(persons):
            if time < person.doubted_until:  # may be somebody older who was half hidden
                cost[:, j] = np.maximum(cost[:, j], _KEPT * limit)
        # One more column for each track: somebody not seen before.
        young = np.array([time - self._since.get(track, -math.inf) < _PROVISIONAL for track in tracks])
        stranger = np.where(young, _DOUBTED, _STRANGER) * limit if not near else np.full(len(tracks), _NEVER)
        cost = np.concatenate([cost, np.repeat(stranger[:, None], len(tracks), 1)], 1)
        ids = [person.id for person in persons] + [-1] * len(tracks)
        now = np.array([ids.index(self._links[track]) for track in tracks])
        rows, best = np.arange(len(tracks)), assign(cost)
        wish = {tracks[i]: ids[best[i]] for i in np.flatnonzero(best != now)}
        gain = float(cost[rows, now].sum() - cost[rows, best].sum())
        margin = _CLEARLY * limit * len(wish)
        if set(wish.values()) == {-1}:
            margin *= 0.5  # the stranger's cost is a limit, not a measurement
        certain = gain > 2 * margin or wish == self._wish
        self._wish = wish if gain > margin else {}
        if not self._wish or not certain:
            return
        self._links = {
            track: person
            for track, person in self._links.items()
            if track in wish or person not in wish.values()
        }
        for track, who in wish.items():
            self._since[track], self._doubted_until[track] = time, time + _PROVISIONAL
            self._links[track] = who if who >= 0 else self._add(looks[track], time, sure=False)
        self._wish = {}

    def _learn(self, looks: dict[int, NDArray[np.float32]], time: float) -> None:
        for track, vector in looks.items():
            if track not in self._links:
                continue
            person = self._persons[self._links[track]]
            fits = difference(vector, person.looks) < self._encoder.limit
            if fits or time >= self._doubted_until[track]:
                person.looks = person.looks + np.float32(_LEARN if fits else _DRIFT) * (vector - person.looks)


def _shows(face: Face) -> bool:
    return not face.carried and abs(head_pose(face.landmarks).yaw) < _MAX_YAW


def _middle(face: Face) -> tuple[float, float]:
    x0, y0, x1, y1 = face.box
    return (x0 + x1) / 2, (y0 + y1) / 2


def _any_near(faces: Sequence[Face]) -> bool:
    for i, a in enumerate(faces):
        for b in faces[i + 1 :]:
            gap = np.hypot(*np.subtract(_middle(a), _middle(b)))
            if gap < _NEAR * max(a.width, b.width):
                return True
    return False
