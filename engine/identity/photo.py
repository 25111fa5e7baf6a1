"""A source photo: read from any still a person may have, checked, measured."""

from __future__ import annotations

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
class SourcePhoto:
    """One usable photo of a source person.

    Attributes:
        image: uint8, H×W×3, BGR, upright, reduced and cropped round the face with a margin.
        face: the chosen face, in pixels of `image`.
        quality: the report shown at import.
        digest: SHA-256 (hex) of the file's bytes and of the choice made in it.
    """

    image: Image
    face: Face
    quality: PhotoQuality
    digest: str
