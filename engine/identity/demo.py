"""The built-in source: a person who does not exist, made from a public-domain portrait.

The portrait is NASA's of Eileen Collins, which scikit-image ships; `engine.identity.fictional` makes
another face of it, since the demo camera shows her own.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import InputError
from engine.identity.photo import SourcePhoto, photo_digest

if TYPE_CHECKING:
    from engine.identity.import_photo import PhotoReader

_VERSION = "fictional 1"
"""Changes when the person made from the portrait does."""


def portrait_path() -> Path:
    """Where the portrait lies (512×512 px, the face is 92 px wide).

    The package is looked up, not imported: importing takes longer than reading the photo.

    Raises:
        InputError: scikit-image is missing or was built without its data.
    """
    spec = find_spec("skimage")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "data" / "astronaut.png"
        if path.is_file():
            return path
    raise InputError("The built-in portrait is missing", "Install Kawari again, or give a photo of your own")


@cache
def demo_digest() -> str:
    """`SourcePhoto.digest` of the built-in source, without making it.

    Raises:
        InputError: see `portrait_path`.
    """
    portrait = photo_digest(hashlib.sha256(portrait_path().read_bytes()).hexdigest(), 1)
    return hashlib.sha256(f"{portrait} {_VERSION}".encode()).hexdigest()


def is_demo(digest: str) -> bool:
    """Whether it is the built-in source's."""
    try:
        return digest == demo_digest()
    except (InputError, OSError):
        return False


def demo_photo(reader: PhotoReader | None = None) -> SourcePhoto:
    """The built-in source.

    Args:
        reader: to be reused; made when not given (0.2 s).

    Raises:
        InputError: see `portrait_path`.
        ModelError: an embedded model is missing or damaged.
    """
    from engine.identity.fictional import fictional  # loads SciPy

    if reader is None:
        from engine.identity.import_photo import PhotoReader  # loads ONNX Runtime

        reader = PhotoReader()
    photo = reader.read(portrait_path())
    person = fictional(photo, reader.detector, reader.landmarker)
    quality = replace(photo.quality, size=person.face.width, hints=())
    return replace(person, digest=demo_digest(), quality=quality)
