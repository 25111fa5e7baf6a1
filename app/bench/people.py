"""Source persons made ready: their photo for the swapper, their other photos for the judge."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2

from app.bench.identity import Embedding
from app.bench.looking import Observer
from app.bench.material import Person, read_frame
from engine.errors import InputError
from engine.identity.photo import SourcePhoto
from engine.types import Image


@dataclass(frozen=True, slots=True)
class Known:
    """A source person.

    Attributes:
        name: as in `Person`.
        photo: what the swapper gets.
        embedding: of that photo.
        references: of independent photos; empty if there are none.
    """

    name: str
    photo: SourcePhoto
    embedding: Embedding
    references: tuple[Embedding, ...]


def know(person: Person, load: Callable[[Path], SourcePhoto], observer: Observer, data: Path) -> Known:
    """Read and embed a person's photos.

    Raises:
        InputError: a file is missing, or shows no face.
    """
    if person.frame is None:
        photo = load(data / "images" / person.file)
        references: tuple[Embedding, ...] = ()
    else:
        path = data / "videos" / person.file
        with tempfile.TemporaryDirectory() as folder:
            still = Path(folder) / "photo.png"
            cv2.imwrite(str(still), read_frame(path, person.frame))
            photo = load(still)
        references = tuple(
            embed(observer, read_frame(path, number), person.file) for number in person.references
        )
    return Known(person.name, photo, embed(observer, photo.image, person.file), references)


def embed(observer: Observer, image: Image, name: str) -> Embedding:
    """Embedding of the largest face.

    Raises:
        InputError: there is none.
    """
    points = observer.find(image)
    if points is None:
        raise InputError(f"No face to be seen in {name}", "Choose others by --sources and --clips")
    return observer.identify(image, points)
