"""Follows faces from frame to frame.

The detector runs at the start, while a face is missing, and now and then for new faces; the
landmark network runs on every followed face in every frame, in a region predicted from the frames
before. Where it fails, optical flow carries the face for a while.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.quality import Quality
from engine.track.acquire import acquire
from engine.track.appearance import Encoder
from engine.track.base import Box, FaceDetector
from engine.track.detector import iou
from engine.track.landmarks import Landmarker
from engine.track.persons import Persons
from engine.track.smoothing import SmoothingOptions
from engine.track.track import Track
from engine.types import Detection, Face, Frame

_SAME_FACE_IOU = 0.35
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
    """

    max_faces: int = 4
    detect_every: int = 15
    carry_seconds: float = 0.5
    smoothing: SmoothingOptions | None = SmoothingOptions()  # noqa: RUF009 (frozen)


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
            self._tracks = []
        if self.quality is not None:
            self._landmarker.fast = self.quality.fast_landmarks
        time = seconds(frame)
        for track in self._tracks:
            track.follow(frame.image, self._before, time, self._options.carry_seconds)
        count = len(self._tracks)
        self._tracks = [track for track in self._tracks if not track.lost]
        self._drop_duplicates()
        if len(self._tracks) < count:
            self._hurry_until = time + _HURRY
        self.looked, self.doubtful = self._should_detect(time), ()
        if self.looked:
            self._detect(frame, time)
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

    def _detect(self, frame: Frame, time: float) -> None:
        self._since_detection = 0
        doubtful: list[Box] = []
        for detection in self._detector.detect(frame.image):
            track = self._nearest(detection)
            if track is not None and not track.carried:
                continue
            full = track is None and len(self._tracks) >= self._options.max_faces
            measured = None if full else acquire(frame.image, detection, self._landmarker)
            if measured is None:
                x0, y0, x1, y1 = map(float, detection.box)
                doubtful.append((x0, y0, x1, y1))
                continue
            if track is None:
                self._tracks.append(
                    Track(self._serial, self._landmarker, self._options.smoothing, measured, time)
                )
                self._serial += 1
            else:
                track.measured(*measured, time)
        self.doubtful = tuple(doubtful)
        self._drop_duplicates()

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
        kept: list[Track] = []
        for track in sorted(self._tracks, key=lambda track: (track.carried, -track.age)):
            boxes = np.array([other.box for other in kept], np.float32).reshape(-1, 4)
            if not (iou(track.box, boxes) > _SAME_FACE_IOU).any():
                kept.append(track)
        self._tracks = kept


def seconds(frame: Frame) -> float:
    """The frame's time: in its clip, or when it was captured."""
    return frame.pts if frame.pts is not None else frame.captured_ns * 1e-9
