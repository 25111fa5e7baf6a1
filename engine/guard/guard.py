"""The leak guard: decides for every frame whether it may leave, and what leaves in its place.

A frame is *safe* only if there is proof that it shows no face that should have been swapped:

- every wanted face in it was swapped, no stage failed, and the detector looked at the whole picture
  not too long ago (at this very frame where new faces would be wanted, too) and left no doubt; or
- nobody wanted is in it: the detector looked at this very frame, found nobody in doubt, and has done
  so without a break for a stated time since the last wanted face was lost.

"The tracker returned no face" alone is never proof: the detector may not have looked, or the head is
turned away, or a hand is before it. So a lost face makes every frame unsafe until it is found again
or has stayed away for `empty_after_s`.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from engine.config import GuardConfig
from engine.track.base import Box
from engine.types import Face

_LOOKS = 3
"""Looks at the whole picture that "nobody is there" needs at least, whatever the frame rate."""
_NEAR = 0.75
"""A face that appears within this many face widths of a lost one takes its place."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about one frame.

    Attributes:
        now_s: the frame's time, seconds.
        faces: the faces found.
        wanted: ids of those that should be swapped.
        swapped: ids of those that were.
        looked: the detector searched the whole of this frame.
        doubtful: see `FaceTracker.doubtful`.
        failed: a stage raised, so that the rest may be incomplete.
        strict: any new face would be wanted, so that only a look at this very frame is proof.
    """

    now_s: float
    faces: tuple[Face, ...]
    wanted: Collection[int]
    swapped: Collection[int]
    looked: bool
    doubtful: tuple[Box, ...] = ()
    failed: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """May the frame leave?

    Attributes:
        safe: True if it may.
        reason: why not: "starting", "stage-failed", "not-swapped", "face-lost", "doubtful",
            "not-looked"; empty if it may.
        regions: if covering these boxes makes the frame safe, the boxes; None if only covering the
            whole picture does.
    """

    safe: bool
    reason: str = ""
    regions: tuple[Box, ...] | None = None


SAFE = Verdict(True)


@dataclass(slots=True)
class _Known:
    box: Box
    present: bool = True


@dataclass(slots=True)
class _Vigil:
    """Looks at the whole picture, one after the other without a break.

    Attributes:
        since: time of the first, seconds; None before it.
        looks: how many there were.
    """

    since: float | None = None
    looks: int = 0

    def end(self) -> None:
        """It was broken; the next look begins another."""
        self.since, self.looks = None, 0

    def look(self, now_s: float) -> None:
        """One more look."""
        self.since = now_s if self.since is None else self.since
        self.looks += 1

    def lasted(self, now_s: float, seconds: float) -> bool:
        """True if it goes on since so long, with so many looks that one miss can't pass for nobody."""
        return self.since is not None and self.looks >= _LOOKS and now_s - self.since >= seconds


class Guard:
    """Judges the frames of one stream, in order; used by one thread.

    Attributes:
        wants_look: only a look at the whole of the next frame can settle what is open; may be read
            from any thread.
    """

    def __init__(self, config: GuardConfig) -> None:
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Nothing is known any more: another source, another size, a restart."""
        self.wants_look = True
        self._scene_known = False
        self._people: dict[int, _Known] = {}
        self._seen: set[int] = set()
        self._newly_lost = False
        self._last_look = -1e9
        self._watched, self._quiet = _Vigil(), _Vigil()

    def judge(self, evidence: Evidence) -> Verdict:
        """The verdict on the next frame."""
        verdict = self._judge(evidence)
        people = self._people.values()
        age = evidence.now_s - self._last_look
        self.wants_look = (
            not self._scene_known
            or not all(one.present for one in people)
            or not people
            or age > self.config.look_age_s / 2
        )
        return verdict

    def _judge(self, evidence: Evidence) -> Verdict:
        self._follow(evidence)
        self._listen(evidence)
        if evidence.failed:
            return Verdict(False, "stage-failed")
        lost = [one for one in self._people.values() if not one.present]
        if lost and evidence.looked and self._quiet.lasted(evidence.now_s, self.config.empty_after_s):
            self._people = {key: one for key, one in self._people.items() if one.present}
            lost = []
        unswapped = [
            face for face in evidence.faces if face.id in evidence.wanted and face.id not in evidence.swapped
        ]
        if lost:
            return Verdict(False, "face-lost" if self._scene_known else "starting")
        late = self._look_missing(evidence)
        if not self._scene_known and not self._proves_scene(evidence, bool(unswapped)):
            return Verdict(False, "starting")
        if late:
            return Verdict(False, "not-looked")
        doubtful = self._doubtful(evidence)
        if unswapped or doubtful:
            boxes = tuple(face.box for face in unswapped) + doubtful
            known = all(math.isfinite(side) for box in boxes for side in box)
            return Verdict(False, "not-swapped" if unswapped else "doubtful", boxes if known else None)
        return SAFE

    def _doubtful(self, evidence: Evidence) -> tuple[Box, ...]:
        """The doubtful places that could be a wanted face.

        Where only a chosen face is swapped and it was found, smaller ones are other people.
        """
        if evidence.strict or not self._people:
            return evidence.doubtful
        widest = max(one.box[2] - one.box[0] for one in self._people.values())
        return tuple(box for box in evidence.doubtful if box[2] - box[0] > widest)

    def _follow(self, evidence: Evidence) -> None:
        """Keep the list of wanted people; a face may disappear, a person only with proof."""
        here = {face.id: face for face in evidence.faces}
        self._newly_lost = any(one.present and key not in here for key, one in self._people.items())
        for key, known in self._people.items():
            known.present = key in here
        for face in evidence.faces:
            if face.id not in evidence.wanted:
                self._people.pop(face.id, None)
                continue
            if face.id not in self._seen:
                self._replace_lost(face)
            self._people[face.id] = _Known(face.box)
        self._seen.update(here)
        if len(self._seen) > 1000:
            self._seen = set(here)

    def _replace_lost(self, face: Face) -> None:
        """A new face close to where one was lost is that person under a new id."""
        near = [
            (distance, key)
            for key, known in self._people.items()
            if not known.present and (distance := _distance(known.box, face.box)) < _NEAR
        ]
        if near:
            del self._people[min(near)[1]]

    def _listen(self, evidence: Evidence) -> None:
        """Keep watch: whether the detector goes on looking, and whether it sees nobody in doubt.

        What it doubts is covered as long as it does, so a scene may be known with doubts in it, but a
        lost person is gone only when nothing could be that person.
        """
        stale = not evidence.looked and evidence.now_s - self._last_look > self.config.look_age_s
        if evidence.failed or self._newly_lost or stale:
            self._watched.end()
            self._quiet.end()
        if evidence.doubtful:
            self._quiet.end()
        if not evidence.looked or evidence.failed:
            return
        self._last_look = evidence.now_s
        self._watched.look(evidence.now_s)
        if not evidence.doubtful:
            self._quiet.look(evidence.now_s)

    def _look_missing(self, evidence: Evidence) -> bool:
        if evidence.looked:
            return False
        if evidence.strict or not any(face.id in evidence.wanted for face in evidence.faces):
            return True
        return evidence.now_s - self._last_look > self.config.look_age_s

    def _proves_scene(self, evidence: Evidence, unswapped: bool) -> bool:
        """True once the start is over: a first look showed who is there, and all are swapped."""
        swapped_all = bool(self._people) and not unswapped and evidence.looked and not evidence.doubtful
        self._scene_known = swapped_all or (
            not self._people
            and evidence.looked
            and self._watched.lasted(evidence.now_s, self.config.empty_after_s)
        )
        return self._scene_known


def _distance(one: Box, other: Box) -> float:
    """Distance of two boxes' centres in widths of the wider one."""
    dx = (one[0] + one[2] - other[0] - other[2]) / 2
    dy = (one[1] + one[3] - other[1] - other[3]) / 2
    width = max(one[2] - one[0], other[2] - other[0], 1.0)
    return float((dx * dx + dy * dy) ** 0.5) / width
