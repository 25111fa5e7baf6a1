"""A source photo: read from any still a person may have, checked, measured."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from engine.types import Face, Image


@dataclass(frozen=True, slots=True)
class PhotoQuality:
    """What a photo is worth as a source.

    Attributes:
        size: face width in the original photo, pixels.
        yaw, pitch, roll: head pose, degrees; 0 looks into the camera.
        sharpness: 0..1, 1 = as sharp as the resolution allows.
        evenness: 0..1, 1 = both halves of the face equally lit.
        brightness: 0..1, median luminance of the skin.
        hints: what would make it better, each one sentence; empty for a good photo.
    """

    size: float
    yaw: float
    pitch: float
    roll: float
    sharpness: float
    evenness: float
    brightness: float
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FaceInPhoto:
    """One of the faces that a photo shows, for those who want to choose another.

    Attributes:
        number: from 1, the largest first; what `read_photo(face=…)` takes.
        box: x0, y0, x1, y1 over the width and height of the photo as a viewer shows it, 0..1
            (beyond where the face is cut off).
        size: width in the original photo, pixels.
        usable: whether it would be accepted as a source.
    """

    number: int
    box: tuple[float, float, float, float]
    size: float
    usable: bool


@dataclass(frozen=True, slots=True)
class SourcePhoto:
    """One usable photo of a source person.

    Attributes:
        image: uint8, H×W×3, BGR, upright, reduced and cropped round the face with a margin.
        face: the chosen face, in pixels of `image`.
        quality: the report shown at import.
        digest: SHA-256 (hex) of the file's bytes and of the choice made in it.
        chosen: number of the chosen face, see `FaceInPhoto`.
        found: every face in the photo, in the order of their numbers.
    """

    image: Image
    face: Face
    quality: PhotoQuality
    digest: str
    chosen: int = 1
    found: tuple[FaceInPhoto, ...] = ()


def photo_digest(file_digest: str, number: int) -> str:
    """`SourcePhoto.digest` from the SHA-256 (hex) of the file and the number of the chosen face."""
    return hashlib.sha256(f"{file_digest}:{number}".encode()).hexdigest()
