"""Two clips in one picture, the persons changing places: the truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from engine.track.detector import Detector
from engine.track.landmarks import Landmarker
from engine.track.tracker import Tracker, TrackOptions
from engine.types import Face, Frame, Image, Points
from tests.unit.track.film import clip

SIZE = (640, 360)


@dataclass(frozen=True)
class Scene:
    """One composed frame; `truth[i]` are the landmarks of person i, None where that one is covered."""

    frame: Frame
    truth: tuple[Points | None, Points | None]


@dataclass(frozen=True)
class Actor:
    """Pictures of one person, cut to a portrait, with their landmarks."""

    pictures: list[Image]
    landmarks: list[Points]


def actor(path: Path, count: int, detector: Detector, landmarker: Landmarker, skip: int = 0) -> Actor:
    """Cut a portrait of 160×220, the face 80 pixels wide, out of a clip."""
    tracker = Tracker(detector, landmarker, TrackOptions(max_faces=1, smoothing=None))
    pictures, landmarks = [], []
    matrix = None
    for index, frame in enumerate(clip(path, skip + count)):
        faces = tracker.update(frame)
        if index < skip:
            continue
        points = faces[0].landmarks
        if matrix is None:
            scale = 80 / faces[0].width
            x, y = points[:, :2].mean(0)
            matrix = np.array([[scale, 0, 80 - scale * x], [0, scale, 105 - scale * y]])
        small = cv2.warpAffine(
            frame.image, matrix, (160, 220), flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REPLICATE
        )
        pictures.append(np.asarray(small, np.uint8))
        moved = points[:, :2] @ matrix[:, :2].T + matrix[:, 2]
        landmarks.append(np.concatenate([moved, points[:, 2:] * matrix[0, 0]], 1).astype(np.float32))
    return Actor(pictures, landmarks)


def crossing(front: Actor, back: Actor, *, crossings: int = 2) -> Iterator[Scene]:
    """Both walk from side to side, `front` covering `back` where they meet."""
    count = min(len(front.pictures), len(back.pictures))
    for index in range(count):
        swing = np.cos(np.pi * crossings * index / (count - 1))
        image = np.full((SIZE[1], SIZE[0], 3), (120, 125, 130), np.uint8)
        places = [(round(240 - 200 * swing), 70), (round(240 + 200 * swing), 40)]
        for who, (x, y) in ((back, places[1]), (front, places[0])):
            image[y : y + 220, x : x + 160] = who.pictures[index]
        ahead = front.landmarks[index] + (*places[0], 0)
        behind = back.landmarks[index] + (*places[1], 0)
        covered = places[0][0] < behind[:, 0].max() and behind[:, 0].min() < places[0][0] + 160
        truth = (ahead.astype(np.float32), None if covered else behind.astype(np.float32))
        yield Scene(Frame(index, 0, image, index / 25), truth)


def shown_person(face: Face, scene: Scene) -> int | None:
    """Whose face this is: the person whose true landmarks it lies on."""
    for person, points in enumerate(scene.truth):
        if points is not None:
            gap = np.hypot(*(points[:, :2].mean(0) - face.landmarks[:, :2].mean(0)))
            if gap < 0.35 * face.width:
                return person
    return None
