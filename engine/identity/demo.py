"""The built-in source: NASA's public-domain portrait of Eileen Collins, which scikit-image ships.

It needs no consent on record (`engine.identity.consent.PUBLIC_DOMAIN_DEMO`).
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from engine.errors import InputError
from engine.identity.import_photo import PhotoReader
from engine.identity.photo import SourcePhoto


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


def demo_photo(reader: PhotoReader | None = None) -> SourcePhoto:
    """The built-in portrait as a source photo.

    Args:
        reader: to be reused; made when not given (0.2 s).

    Raises:
        InputError: see `portrait_path`.
        ModelError: an embedded model is missing or damaged.
    """
    return (reader or PhotoReader()).read(portrait_path())
