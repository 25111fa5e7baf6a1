"""Is the person before the camera the one in the photos, and there in the flesh?

The person looks into the camera and turns the head to both sides; in each of the three poses the face
must resemble every photo. The same face must be followed all the while, so that nobody changes places.

What it keeps out: somebody else, a photo held before the camera, Kawari's own pictures. What it does
not: a film of the person that turns its head, a mask, another program that makes pictures.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.align import five_points
from engine.errors import DeviceError, RefusedError
from engine.identity.embedding import Embedding
from engine.identity.photo import SourcePhoto
from engine.mark.detector import Detector, Verdict
from engine.sources.base import Source
from engine.track.base import FaceTracker
from engine.track.pose import head_pose
from engine.types import Face, Frame, Image, Points

SAME = 0.5
"""Cosine from which two faces are the same person's. With a MobileFaceNet (128 numbers) on 19 persons
and clips: the same person against their most frontal frame 0.56 at least (1,500 faces, turned by up to
48°), different persons 0.43 at most (all pairs). Other networks differ; docs/verification.md."""
TURN = 18.0
"""Degrees to each side. Flat photos that were tilted by up to 55° look turned by 13° at most to the
landmark network, since it takes them for faces seen from the front."""
FRONTAL = 10.0
"""Degrees; up to here the face looks into the camera."""
LOOKS = 3
"""Faces judged in each pose; their median counts."""


class Pose(enum.Enum):
    """A pose that is asked for."""

    FRONT = "Look into the camera"
    LEFT = "Turn your head to the left of the picture"
    RIGHT = "Turn your head to the right of the picture"


class Compares(Protocol):
    """An `engine.identity.embedding.Embedder`."""

    def embed(self, image: Image, points: Points) -> Embedding:
        """The embedding of the face at the five points."""
        ...


class LiveMatch:
    """Collects what is seen of one person.

    Args:
        photos: the embeddings of the photos, one or more.
        embedder: made them.
    """

    def __init__(self, photos: Sequence[Embedding], embedder: Compares) -> None:
        self._photos = np.stack([_unit(each) for each in photos])
        self._embedder = embedder
        self._face: int | None = None
        self._seen: dict[Pose, list[NDArray[np.float64]]] = {}

    def look(self, image: Image, faces: Sequence[Face]) -> Pose | None:
        """Take in one frame.

        Args:
            image: uint8, H×W×3, BGR.
            faces: found in it; the largest counts.

        Returns:
            What the person should do next, None if all was seen.
        """
        face = max(faces, key=lambda each: each.width, default=None)
        if face is None or face.id != self._face:
            self._face = None if face is None else face.id
            self._seen = {pose: [] for pose in Pose}
        elif not face.carried:
            pose = _pose(face)
            if pose is not None and len(self._seen[pose]) < LOOKS:
                embedding = self._embedder.embed(image, five_points(face.landmarks))
                self._seen[pose].append(self._photos @ _unit(embedding))
        return next((pose for pose in Pose if len(self._seen[pose]) < LOOKS), None)

    def similarities(self) -> tuple[float, ...]:
        """For each photo the median cosine of the pose that resembles it least; all must have been seen."""
        medians = np.stack([np.median(np.stack(self._seen[pose]), axis=0) for pose in Pose])
        return tuple(float(each) for each in medians.min(0))


def match_live(
    source: Source,
    tracker: FaceTracker,
    photos: Sequence[SourcePhoto],
    embedder: Compares,
    *,
    ask: Callable[[Pose], None],
    seconds: float = 60.0,
    clock: Callable[[Frame], float] = lambda _: time.monotonic(),
) -> tuple[float, ...]:
    """Watch a camera until the person has shown all poses.

    Args:
        source: closed; it is opened, read and closed here.
        tracker: a new one.
        photos: each must show the person.
        embedder: a recognition network.
        ask: told what the person should do, whenever that changes.
        seconds: patience.
        clock: what they are measured by.

    Returns:
        The similarity to each photo, `SAME` at least.

    Raises:
        RefusedError: it is somebody else, or nobody turned their head in time, or the pictures are Kawari's.
        DeviceError: the camera fails.
    """
    references = [embedder.embed(photo.image, five_points(photo.face.landmarks)) for photo in photos]
    match, own, asked = LiveMatch(references, embedder), Detector(), None
    source.open()
    try:
        start = None
        while (frame := source.read()) is not None:
            start = clock(frame) if start is None else start
            own.feed(frame.image)
            wanted = match.look(frame.image, tracker.update(frame))
            if wanted is None:
                break
            if wanted is not asked:
                ask(wanted)
                asked = wanted
            if clock(frame) - start > seconds:
                raise RefusedError(f"Not all was seen within {seconds:g} s: {wanted.value.lower()}", _AGAIN)
        else:
            raise DeviceError("The camera delivers no more pictures", "Plug it in again")
    finally:
        source.close()
    similarities = match.similarities()
    if min(similarities) < SAME:
        raise RefusedError(
            "The person before the camera does not seem to be the one in the photos",
            "Use photos that show you as you are now, in even light",
        )
    if own.find().verdict is not Verdict.ABSENT:
        raise RefusedError("The camera's pictures are Kawari's own", "Choose the real camera")
    return similarities


_AGAIN = "Try again, alone before the camera, in even light"


def _pose(face: Face) -> Pose | None:
    yaw = head_pose(face.landmarks).yaw
    if abs(yaw) <= FRONTAL:
        return Pose.FRONT
    if abs(yaw) < TURN:
        return None
    return Pose.RIGHT if yaw > 0 else Pose.LEFT


def _unit(embedding: Embedding) -> NDArray[np.float64]:
    vector = embedding.astype(np.float64)
    return np.asarray(vector / np.linalg.norm(vector))
