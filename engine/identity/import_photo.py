"""From a file to a `SourcePhoto`: find the faces, choose one, judge it, turn and crop it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np

from engine.errors import InputError, UsageError
from engine.identity import verdict
from engine.identity.likeness import with_doubts
from engine.identity.photo import FaceInPhoto, PhotoQuality, SourcePhoto, photo_digest
from engine.identity.picture import Picture, open_picture
from engine.identity.quality import Measures, measure
from engine.track.detector import Detector
from engine.track.landmarks import Landmarker
from engine.track.stills import find_faces
from engine.types import Face, Image, Points

MAX_PHOTOS = 5
"""More photos of one person than this bring nothing new."""

MAX_FACE_WIDTH = 640
"""Wider faces are reduced to this, pixels: more than any swapper's crop shows of one."""

MARGIN = 0.75
"""Kept round the face's box, over its longer side: the aligned crops of neural swappers fit in."""

_DARK = 38
"""Median of a picture, 0..255, below which darkness is named as the likely reason for finding no face."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    face: Face
    measures: Measures
    faults: tuple[verdict.Fault, ...]


class PhotoReader:
    """Reads photos with one detector and one landmark network; not thread-safe.

    Args:
        detector, landmarker: to be shared with others; made when not given (0.1 s).
        screen: called with the digest, the whole picture and the chosen face of each photo before it is
            accepted; raises what the reader then raises (see `engine.content.gate`).
    """

    def __init__(
        self,
        detector: Detector | None = None,
        landmarker: Landmarker | None = None,
        screen: Callable[[str, Image, Face], None] | None = None,
    ) -> None:
        self.detector = detector or Detector()
        self.landmarker = landmarker or Landmarker()
        self._screen = screen

    def read(
        self, path: str | Path, *, face: int | None = None, at: tuple[float, float] | None = None
    ) -> SourcePhoto:
        """See `read_photo`."""
        if face is not None and at is not None:
            raise UsageError("A face was chosen by number and by position", "Choose it in one way")
        if face is not None and face < 1:
            raise UsageError(f"Faces are numbered from 1, not {face}", "1 is the largest")
        path = Path(path)
        picture = open_picture(path)
        candidates = self._candidates(picture)
        if not candidates:
            raise _no_face(path.name, picture)
        found = tuple(_describe(number, each, picture) for number, each in enumerate(candidates, 1))
        number = _choose(path.name, found, face, at)
        chosen = candidates[number - 1]
        if chosen.faults:
            raise _unusable(path.name, chosen, number, found)
        image, upright = _portrait(picture.image, chosen.face, chosen.measures.pose.roll)
        hints = verdict.hints(chosen.measures)
        if len(found) > 1 and face is None and at is None:
            hints = (_others(found), *hints)
        digest = photo_digest(picture.digest, number)
        if self._screen is not None:
            self._screen(digest, picture.image, chosen.face)
        return SourcePhoto(image, upright, _quality(chosen.measures, hints), digest, number, found)

    def faces(self, path: str | Path) -> tuple[FaceInPhoto, ...]:
        """Every face in a photo, usable or not, the largest first; none is no error.

        Raises `InputError` if it is no picture.
        """
        picture = open_picture(Path(path))
        candidates = enumerate(self._candidates(picture), 1)
        return tuple(_describe(number, each, picture) for number, each in candidates)

    def read_all(self, paths: Sequence[str | Path], *, face: int | None = None) -> tuple[SourcePhoto, ...]:
        """See `read_photos`."""
        if not paths:
            raise UsageError("No photo was given", "Give one to five photos of the same person")
        if len(paths) > MAX_PHOTOS:
            message = f"{len(paths)} photos were given and {MAX_PHOTOS} are the most"
            raise UsageError(message, "Give the best ones: sharp, evenly lit, looking into the camera")
        photos = {photo.digest: photo for photo in (self.read(path, face=face) for path in paths)}
        return with_doubts(tuple(photos.values()))

    def _candidates(self, picture: Picture) -> list[_Candidate]:
        if min(picture.image.shape[:2]) < 3:
            return []
        faces = find_faces(picture.image, self.detector, self.landmarker)
        measured = [(each, measure(picture.image, each, picture.scale)) for each in faces]
        measured.sort(key=lambda pair: -pair[1].width)
        return [_Candidate(each, figures, verdict.faults(figures)) for each, figures in measured]


def read_photo(
    path: str | Path, *, face: int | None = None, at: tuple[float, float] | None = None
) -> SourcePhoto:
    """Read a photo of a source person.

    Sideways and upside-down photos are turned by a multiple of 90°. Statues and paintings are
    faces too.

    Args:
        path: any still picture, see `engine.identity.picture`.
        face: which face if there are several; 1 is the largest and the default.
        at: or a point on it, x and y over the width and height of the photo as a viewer shows it, 0..1.

    Raises:
        InputError: no picture, no face, or one that is too small, turned, dark or blurred.
        UsageError: both `face` and `at`, or a number below 1.
        ModelError: an embedded model is missing or damaged.
    """
    return PhotoReader().read(path, face=face, at=at)


def read_photos(paths: Sequence[str | Path], *, face: int | None = None) -> tuple[SourcePhoto, ...]:
    """Read one to five photos of the same person; the same photo given twice counts once.

    A photo whose face is clearly of another shape than the others' gets a hint.

    Raises:
        UsageError: none or more than five.
        InputError, ModelError: see `read_photo`.
    """
    return PhotoReader().read_all(paths, face=face)


def _choose(
    name: str, found: tuple[FaceInPhoto, ...], face: int | None, at: tuple[float, float] | None
) -> int:
    if at is not None:
        return _nearest(name, found, at)
    number = face or 1
    if number > len(found):
        faces = "one face" if len(found) == 1 else f"{len(found)} faces"
        remedy = "Leave the number out" if len(found) == 1 else f"Choose 1 (the largest) to {len(found)}"
        raise InputError(f"“{name}” shows {faces}, so there is no face {number}", remedy)
    return number


def _nearest(name: str, found: tuple[FaceInPhoto, ...], at: tuple[float, float]) -> int:
    """The face whose middle is nearest to a point, in units of its size; a miss by half a face counts."""

    def distance(each: FaceInPhoto) -> float:
        x0, y0, x1, y1 = each.box
        dx, dy = (at[0] - (x0 + x1) / 2) / (x1 - x0), (at[1] - (y0 + y1) / 2) / (y1 - y0)
        return max(abs(dx), abs(dy))

    nearest = min(found, key=distance)
    if distance(nearest) > 1:
        raise InputError(f"There is no face at that place in “{name}”", "Click on the middle of a face")
    return nearest.number


def _describe(number: int, candidate: _Candidate, picture: Picture) -> FaceInPhoto:
    height, width = picture.image.shape[:2]
    x0, y0, x1, y1 = candidate.face.box
    box = (x0 / width, y0 / height, x1 / width, y1 / height)
    return FaceInPhoto(number, box, candidate.measures.width, not candidate.faults)


def _quality(measures: Measures, hints: tuple[str, ...]) -> PhotoQuality:
    yaw, pitch, roll = measures.pose
    return PhotoQuality(
        size=measures.width,
        yaw=yaw,
        pitch=pitch,
        roll=roll - 90 * _quarter_turns(roll),
        sharpness=measures.sharpness,
        evenness=measures.evenness,
        brightness=measures.brightness,
        hints=hints,
    )


# ---- turning and cropping -----------------------------------------------------------------------


def _quarter_turns(roll: float) -> int:
    """Turns by 90° against the clock that bring a head rolled by so many degrees upright."""
    return round(roll / 90)


def _portrait(image: Image, face: Face, roll: float) -> tuple[Image, Face]:
    """The picture cropped round the face, turned upright and reduced, and the face in it."""
    x0, y0, x1, y1 = face.box
    margin = MARGIN * max(x1 - x0, y1 - y0)
    left, top = max(0, int(x0 - margin)), max(0, int(y0 - margin))
    crop = image[top : int(np.ceil(y1 + margin)), left : int(np.ceil(x1 + margin))]
    points = face.landmarks - np.array([left, top, 0], np.float32)
    for _ in range(_quarter_turns(roll) % 4):
        points = np.stack([points[:, 1], crop.shape[1] - 1 - points[:, 0], points[:, 2]], 1)
        crop = np.rot90(crop)
    crop, points = _reduced(np.ascontiguousarray(crop), points)
    return crop, replace(face, id=0, landmarks=points)


def _reduced(image: Image, points: Points) -> tuple[Image, Points]:
    width = float(np.ptp(points[:468, 0]))
    if width <= MAX_FACE_WIDTH:
        return image.copy(), points
    ratio = MAX_FACE_WIDTH / width
    size = (max(1, round(image.shape[1] * ratio)), max(1, round(image.shape[0] * ratio)))
    small = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
    zoom = np.array([size[0] / image.shape[1], size[1] / image.shape[0], ratio], np.float32)
    centre = np.array([0.5, 0.5, 0], np.float32)  # pixel centres are at integers
    return small, np.asarray((points + centre) * zoom - centre, np.float32)


# ---- what to say --------------------------------------------------------------------------------


def _no_face(name: str, picture: Picture) -> InputError:
    height, width = (round(side / picture.scale) for side in picture.image.shape[:2])
    if min(height, width) < verdict.MIN_WIDTH:
        needed = f"Give a photo in which the face is at least {verdict.MIN_WIDTH} px wide"
        return InputError(f"“{name}” is too small for a face: {width}×{height} px", needed)
    if float(np.median(picture.image)) < _DARK:
        return InputError(f"No face was found in “{name}”, which is very dark", "Take it in more light")
    remedy = "Give a photo in which the face is uncovered, looks into the camera"
    return InputError(
        f"No face was found in “{name}”", f"{remedy} and is at least {verdict.MIN_WIDTH} px wide"
    )


def _unusable(name: str, candidate: _Candidate, number: int, found: tuple[FaceInPhoto, ...]) -> InputError:
    which = "The face" if len(found) == 1 else f"Face {number} of {len(found)}"
    what = _list([fault.what for fault in candidate.faults])
    remedy = f"Give a photo in which the face {_list([fault.remedy for fault in candidate.faults])}"
    usable = [str(each.number) for each in found if each.usable]
    if usable:
        remedy += f", or choose face {_list(usable, 'or')} in this one"
    return InputError(f"{which} in “{name}” {what}", remedy)


def _others(found: tuple[FaceInPhoto, ...]) -> str:
    others = ", ".join(f"{each.number} ({each.size:.0f} px, {_place(each)})" for each in found[1:])
    return f"The photo shows {len(found)} faces and the largest was taken; the others are {others}."


def _place(face: FaceInPhoto) -> str:
    middle = (face.box[0] + face.box[2]) / 2
    return "left" if middle < 1 / 3 else "right" if middle > 2 / 3 else "middle"


def _list(phrases: Sequence[str], word: str = "and") -> str:
    return f" {word} ".join([", ".join(phrases[:-1]), phrases[-1]] if len(phrases) > 1 else phrases)
