"""Everything that is put on a picture before it leaves: the badge, then the watermark."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from engine.mark.badge import Badge
from engine.mark.install import install_id
from engine.mark.payload import Payload, model_id
from engine.mark.private_key import private_key
from engine.mark.watermark import Watermark
from engine.types import Image
from engine.version import __version__


class Marker:
    """Marks pictures as made by Kawari. The watermark can't be left out; the badge can.

    Args:
        payload: what the watermark says.
        badge: None for none.
        private: a watermark key of the user's own, beside the public one.
    """

    def __init__(self, payload: Payload, badge: Badge | None, private: bytes | None = None) -> None:
        self.payload = payload
        self._badge = badge
        self._watermark = Watermark(payload.to_bytes(), private)

    def apply(self, image: Image) -> None:
        """Mark `image` (uint8, H×W×3, BGR) in place."""
        if self._badge is not None:
            self._badge.apply(image)
        self._watermark.apply(image)


def make_payload(home: Path, swapper: str) -> Payload:
    """What the watermarks of today's pictures say.

    Args:
        home: Kawari's folder, where the installation's random id is kept.
        swapper: name of the swapper.
    """
    major, minor = (int(part) for part in __version__.split(".")[:2])
    return Payload(install_id(home), model_id(swapper), (major, minor), datetime.now(UTC).date())


def make_marker(home: Path, swapper: str, badge: Badge | None) -> Marker:
    """The marker of one stream.

    Args:
        home, swapper: see `make_payload`.
        badge: the visible badge, or None.

    Raises:
        DeviceError: there is a private key, in a key store that is locked.
    """
    return Marker(make_payload(home, swapper), badge, private_key(home))
