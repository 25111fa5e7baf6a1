"""`kawari bench quality`: is it the source person, does the face move as it did, is it steady?

Real clips × source persons, judged by a separate identity network and by landmarks measured afresh
on input and output. What each figure is: `app.bench.measures` and `app.bench.score`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np

from app.bench.identity import Embedding
from app.bench.looking import Observer
from app.bench.material import Clip, read_frames
from app.bench.people import Known, embed
from app.bench.score import PairFigures, PairScore
from app.bench.sheet import Sheet
from app.bench.steady import still_jitter
from app.bench.subject import Subject, intended
from engine.swap.base import FaceSwap
from engine.track.topology import OVAL
from engine.types import Detection, Face, Image, Points

EMBED_EVERY = 3
"""Identity is judged on every n-th frame: it changes slowly, and costs the most to measure."""
TARGET_FRAMES = 3
"""Frames of the clip, spread over the part looked at, that stand for the target person."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to look.

    Attributes:
        data: folder with `videos/` and `images/`.
        frames: of each clip.
        strength: see `FaceSwap.patch`.
        sheet: PNG file for contact sheets; the clip's name is added to its stem.
    """

    data: Path
    frames: int = 60
    strength: float = 0.8
    sheet: Path | None = None


@dataclass(slots=True)
class ClipResult:
    """What one clip showed.

    Attributes:
        name: of the clip.
        frames: looked at.
        detected: faces that the detector saw in them, by itself.
        lost: of these, faces that the tracker did not give, or got no patch from some source.
        jitter: of a still head, see `app.bench.steady`.
        pairs: figures by source person.
    """

    name: str
    frames: int = 0
    detected: int = 0
    lost: int = 0
    jitter: float | None = None
    pairs: dict[str, PairFigures] = field(default_factory=dict)


@dataclass(slots=True)
class Pair:
    """One source person on the clip."""

    name: str
    swap: FaceSwap
    score: PairScore


class QualityBench:
    """Looks at clips, one after the other."""

    def __init__(self, subject: Subject, observer: Observer, options: Options) -> None:
        self._subject, self._observer, self._options = subject, observer, options

    def run(
        self, clips: Sequence[Clip], people: Sequence[Known], progress: Callable[[str], None]
    ) -> list[ClipResult]:
        """Every clip with every person that is not in it.

        Raises:
            InputError: a clip is missing, can't be decoded or shows nobody.
        """
        results = []
        for clip in clips:
            progress(clip.name)
            others = [person for person in people if person.name != clip.person]
            if others:
                results.append(self._clip(clip, others))
        return results

    def _clip(self, clip: Clip, people: Sequence[Known]) -> ClipResult:
        options, result, sheet = self._options, ClipResult(clip.name), Sheet()
        path = options.data / "videos" / clip.file
        first, target = self._target(path, clip)
        pairs = [
            Pair(one.name, self._follow(one), PairScore(one.embedding, one.references, target))
            for one in people
        ]
        tracker, followed = self._subject.tracker(), -1
        for index, frame in enumerate(read_frames(path, clip.start, options.frames)):
            result.frames += 1
            faces = tracker.update(frame)
            seen = self._observer.detect(frame.image)
            result.detected += len(seen)
            result.lost += sum(not any(covers(one, face) for face in faces) for one in seen)
            face = choose(faces, followed)
            if face is None:
                continue
            followed = face.id
            outputs = self._frame(frame.image, face, pairs, identify=index % EMBED_EVERY == 0)
            result.lost += any(output is None for output in outputs)
            if options.sheet and index % max(options.frames // 6, 1) == 0:
                shown = [frame.image if output is None else output for output in outputs]
                sheet.add([frame.image, *shown], face)
        result.pairs = {pair.name: pair.score.figures() for pair in pairs}
        result.jitter = still_jitter(self._subject, first, people[0].photo, options.strength)
        if options.sheet:
            sheet.write(options.sheet.with_stem(f"{options.sheet.stem}-{clip.name}"))
        return result

    def _follow(self, person: Known) -> FaceSwap:
        return self._subject.swapper.follow(self._subject.swapper.prepare([person.photo]))

    def _target(self, path: Path, clip: Clip) -> tuple[Image, list[Embedding]]:
        """The clip's first frame, and embeddings of the person in it."""
        wanted = np.linspace(0, self._options.frames - 1, TARGET_FRAMES).astype(int)
        images = [
            frame.image
            for index, frame in enumerate(read_frames(path, clip.start, self._options.frames))
            if index in wanted
        ]
        return images[0], [embed(self._observer, image, clip.file) for image in images]

    def _frame(
        self, image: Image, face: Face, pairs: Sequence[Pair], *, identify: bool
    ) -> list[Image | None]:
        """Swap one face with every source person and judge; None where the swapper gave no patch."""
        before = self._observer.look(image, face.landmarks)
        who = self._observer.identify(image, before) if before is not None and identify else None
        light = luminance(image, face.landmarks)
        outputs: list[Image | None] = []
        for pair in pairs:
            patch = pair.swap.patch(image, face, self._options.strength)
            output = None if patch is None else self._subject.paste(image, patch)
            outputs.append(output)
            if before is None:
                continue
            shown = image if output is None else output
            aim = None if output is None else intended(pair.swap, face)
            after = self._observer.look(shown, face.landmarks)
            pair.score.add(before, after, intended=aim, light=(light, luminance(shown, face.landmarks)))
            if who is not None:
                found = None if after is None else self._observer.identify(shown, after)
                pair.score.identify(who, found)
        return outputs


def choose(faces: Sequence[Face], followed: int) -> Face | None:
    """The face followed so far, else the largest."""
    same = [face for face in faces if face.id == followed]
    return same[0] if same else max(faces, key=lambda one: one.width, default=None)


def covers(detection: Detection, face: Face) -> bool:
    """True if the face is the one that the detector saw: its box holds the detection's centre."""
    x0, y0, x1, y1 = face.box
    x, y = (detection.box[:2] + detection.box[2:]) / 2
    return bool(x0 <= x <= x1 and y0 <= y <= y1)


def luminance(image: Image, landmarks: Points) -> float:
    """Mean luma of the face, levels: the landmarks' oval shrunk to 85 %, away from its seam."""
    oval = landmarks[OVAL, :2]
    oval = oval.mean(0) + (oval - oval.mean(0)) * 0.85
    height, width = image.shape[:2]
    x0, y0 = np.maximum(np.floor(oval.min(0)).astype(int), 0)
    x1, y1 = np.minimum(np.ceil(oval.max(0)).astype(int) + 1, (width, height))
    if x1 <= x0 or y1 <= y0:
        return 0.0
    mask = np.zeros((y1 - y0, x1 - x0), np.uint8)
    cv2.fillConvexPoly(mask, np.rint((oval - (x0, y0)) * 16).astype(np.int32), 255, shift=4)
    grey = cv2.cvtColor(image[y0:y1, x0:x1], cv2.COLOR_BGR2GRAY)
    return float(cv2.mean(grey, mask)[0])
