"""Follows faces from frame to frame.

The detector runs at the start, while a face is missing, and now and then for new faces; while nobody
is followed it looks at the picture in all turns, so that whoever comes in lying is seen at once. The
landmark network runs on every followed face in every frame, in a region predicted from the frames
before. Where it fails, optical flow carries the face for a while.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.quality import Quality
from engine.track.acquire import acquire
from engine.track.appearance import Encoder
from engine.track.base import Box, FaceDetector
from engine.track.detector import iou
from engine.track.landmarks import Landmarker
from engine.track.persons import Persons
from engine.track.smoothing import SmoothingOptions
from engine.track.track import Track
from engine.track.turns import TURNS, Rota, turn_of
from engine.types import Detection, Face, Frame, Image

_SAME_FACE_IOU = 0.35
_SAME_HEAD_IOU = 0.1
"""Something doubtful in a turned look that overlaps a face so far is that head's ear or hair."""
_SURE = 0.7
"""Detector scores from which something seen in a turned look counts as a doubtful face, and live as a
face at all. Ears and heads seen the wrong way round get up to 0.7, in some frames more; 94 % of the faces
in a dozen clips, turned along with their picture, get more."""
_HURRY, _HURRIED_EVERY = 3.0, 2
"""For so many seconds after a face was lost it is looked for every second frame."""


@dataclass(frozen=True, slots=True)
class TrackOptions:
    """How to follow faces.

    Attributes:
        max_faces: at most so many are followed at once, the largest first.
        detect_every: frames between two looks for new faces; 0 = only when none is followed.
        carry_seconds: how long optical flow may carry a face that can't be measured; 0 = not.
        smoothing: None gives the landmarks as measured.
        thorough: each look takes all turns at once, not one by one, though faces are followed: for
            clips, where no frame may show a face that is found only later.
    """

    max_faces: int = 4
    detect_every: int = 15
    carry_seconds: float = 0.5
    smoothing: SmoothingOptions | None = SmoothingOptions()  # noqa: RUF009 (frozen)
    thorough: bool = False


class Tracker:
    """Follows the faces of one stream; not thread-safe.

    Cost grows with the number of faces, not with the size of the picture (but for the detector's
    one shrinking of it).

    Args:
        detector: finds faces.
        landmarker: measures them.
        options: see `TrackOptions`.
        encoder: tells persons apart; by default colours and proportions.

    Attributes:
        quality: the controller's hints; its `detect_every` then replaces that of the options.
        looked, doubtful: see `engine.track.base.FaceTracker`.
    """

    def __init__(
        self,
        detector: FaceDetector,
        landmarker: Landmarker,
        options: TrackOptions | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        self._detector = detector
        self._landmarker = landmarker
        self._options = options or TrackOptions()
        self.quality: Quality | None = None
        self._persons = Persons(encoder)
        self.reset()

    def reset(self) -> None:
        """Forget faces and persons: a new stream starts, ids count from 0 again."""
        self._persons.reset()
        self._serial = 0
        self._hurry_until = -math.inf
        self._tracks: list[Track] = []
        self._before: Frame | None = None
        self._since_detection = 0
        self._rota = Rota()
        self._doubts: dict[int, list[Box]] = {}
        self.looked = False
        self.doubtful: tuple[Box, ...] = ()

    def update(self, frame: Frame) -> tuple[Face, ...]:
        """The faces in the next frame of the stream, the largest first.

        Args:
            frame: later than the one before; a change of size starts afresh.

        Returns:
            Faces with `carried` = 0 where measured; a face that can't be found for longer than
            `carry_seconds` is left out.
        """
        if self._before is not None and self._before.image.shape != frame.image.shape:
            self._tracks, self._rota, self._doubts = [], Rota(), {}
        if self.quality is not None:
            self._landmarker.fast = self.quality.fast_landmarks
        time = frame.seconds
        for track in self._tracks:
            track.follow(frame.image, self._before, time, self._options.carry_seconds)
        lost = [track for track in self._tracks if track.lost]
        self._tracks = [track for track in self._tracks if not track.lost]
        self._drop_duplicates()
        for track in lost:
            self._hurry_until = time + _HURRY
            self._rota.prefer(turn_of(track.landmarks))
        self._rota.frame()
        looks = self._should_detect(time)
        if looks:
            self._detect(frame.image, time)
        elif self._turned_look_due():
            # not in the frame of an upright look: no frame should cost much more than the others
            self._search(frame.image, self._rota.take(), time)
        self.looked = looks
        doubts = [box for boxes in self._doubts.values() for box in boxes] if looks else []
        doubts += [_box(track.box) for track in lost]
        self.doubtful = tuple(box for box in doubts if not self._followed(box))
        self._before = frame
        self._tracks.sort(key=lambda track: -track.width)
        return self._persons.identify(frame.image, [track.face() for track in self._tracks], time)

    def _should_detect(self, time: float) -> bool:
        self._since_detection += 1
        if time < self._hurry_until and self._since_detection >= _HURRIED_EVERY:
            return True
        if not self._tracks or any(track.carried for track in self._tracks):
            return True
        if self.quality is not None:
            return self._since_detection >= self.quality.detect_every
        full = len(self._tracks) >= self._options.max_faces
        return not full and 0 < self._options.detect_every <= self._since_detection

    def _turned_look_due(self) -> bool:
        room = 0 < len(self._tracks) < self._options.max_faces
        return room and not self._options.thorough and self._rota.due_between(self._since_detection)

    def _detect(self, image: Image, time: float) -> None:
        self._since_detection = 0
        self._search(image, 0, time)
        for turn in self._further_turns():
            self._search(image, turn, time)

    def _further_turns(self) -> tuple[int, ...]:
        """The turns in which to look now, after the look at the picture as it is.

        All of them where it shows nobody: the guard would take a face that lies for an empty room. A
        frame then costs as much CPU time as one with a face in it, which needs landmarks and a swap.
        """
        if self._options.thorough or not self._tracks:
            for turn in TURNS:
                self._rota.looked(turn)
            return TURNS
        rolled = [turn for track in self._tracks if track.carried and (turn := turn_of(track.landmarks))]
        for turn in rolled:
            self._rota.prefer(turn)
        doubted = [turn for turn in TURNS if self._doubts.get(turn)]
        if not rolled and not doubted and not self._rota.overdue:
            return ()
        return (self._rota.take(() if rolled else doubted),)

    def _search(self, image: Image, turn: int, time: float) -> None:
        """Look in one turn; new faces are followed, what is none is kept in doubt till the next such look."""
        doubts: list[Box] = []
        least = _SURE if turn and not self._options.thorough else None
        for detection in self._detector.detect(image, min_score=least, turn=turn):
            track = self._nearest(detection)
            if track is not None and not track.carried:
                continue
            full = track is None and len(self._tracks) >= self._options.max_faces
            measured = None if full else acquire(image, detection, self._landmarker)
            if measured is None:
                if not turn or detection.score >= _SURE:
                    doubts.append(_box(detection.box))
            elif track is None:
                self._tracks.append(
                    Track(self._serial, self._landmarker, self._options.smoothing, measured, time)
                )
                self._serial += 1
            else:
                track.measured(*measured, time)
        self._drop_duplicates()
        least_iou = _SAME_HEAD_IOU if turn else _SAME_FACE_IOU
        self._doubts[turn] = [box for box in doubts if not self._followed(box, least_iou)]

    def _followed(self, box: Box, least_iou: float = _SAME_FACE_IOU) -> bool:
        """Whether this is a face that was measured in this frame."""
        seen = np.array([track.box for track in self._tracks if not track.carried], np.float32)
        return bool((iou(np.array(box, np.float32), seen.reshape(-1, 4)) > least_iou).any())

    def _nearest(self, detection: Detection) -> Track | None:
        """The followed face that the detection shows, if any."""
        eyes = detection.keypoints[:2].mean(0)
        best, least = None, 0.4
        for track in self._tracks:
            gap = float(np.hypot(*(track.eyes - eyes))) / track.width
            if gap < least:
                best, least = track, gap
        return best

    def _drop_duplicates(self) -> None:
        """Of two tracks on one face the older measured one stays."""
        if len(self._tracks) < 2:
            return
        kept: list[Track] = []
        for track in sorted(self._tracks, key=lambda track: (track.carried, -track.age)):
            boxes = np.array([other.box for other in kept], np.float32).reshape(-1, 4)
            if not (iou(track.box, boxes) > _SAME_FACE_IOU).any():
                kept.append(track)
        self._tracks = kept


def _box(box: NDArray[np.float32]) -> Box:
    x0, y0, x1, y1 = map(float, box)
    return x0, y0, x1, y1
