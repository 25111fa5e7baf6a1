"""The built-in source: NASA's public-domain portrait of Eileen Collins, which scikit-image ships."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import InputError
from engine.identity.photo import SourcePhoto, photo_digest

if TYPE_CHECKING:
    from engine.identity.import_photo import PhotoReader


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
    """`SourcePhoto.digest` of the built-in portrait, without decoding it.

    Raises:
        InputError: see `portrait_path`.
    """
    return photo_digest(hashlib.sha256(portrait_path().read_bytes()).hexdigest(), 1)


def demo_photo(reader: PhotoReader | None = None) -> SourcePhoto:
    """The built-in portrait as a source photo.

    Args:
        reader: to be reused; made when not given (0.2 s).

    Raises:
        InputError: see `portrait_path`.
        ModelError: an embedded model is missing or damaged.
    """
    if reader is None:
        from engine.identity.import_photo import PhotoReader  # loads ONNX Runtime

        reader = PhotoReader()
    return reader.read(portrait_path())
