"""Shows before the camera that a face is the user's own; runs on the bridge's thread and can be stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from app.gui.watched import Watched

if TYPE_CHECKING:
    from engine.identity.consent import ConsentStore
    from engine.identity.live_match import Compares, Pose
    from engine.identity.photo import SourcePhoto
    from engine.sources.base import Source


def open_installed() -> tuple[str, Compares]:
    """Name and network of the recognition model that was added.

    Raises:
        ModelError: there is none.
    """
    from engine.folders import home
    from engine.identity.recognition import open_recognition

    return open_recognition(home())


class LiveProof:
    """One match of the person before the camera with a photo. `run` is called by one thread, `cancel` by any.

    Args:
        photo: whose record says that it shows the user.
        consents: where the proof is noted.
        source: the camera, closed.
        ask: told, on the matching thread, what the person should do next.
        recognition: opens the network that compares.
    """

    def __init__(
        self,
        photo: SourcePhoto,
        consents: ConsentStore,
        source: Source,
        ask: Callable[[Pose], None],
        recognition: Callable[[], tuple[str, Compares]] = open_installed,
    ) -> None:
        self._photo, self._consents, self._ask, self._recognition = photo, consents, ask, recognition
        self._stopped = threading.Event()
        self._source = Watched(source, self._stopped, lambda _: None)

    def run(self) -> float:
        """Watch until all was seen; the similarity, which is noted in the record.

        Raises:
            RefusedError: it is somebody else, or not all was seen in time.
            DeviceError, ModelError: the camera, or the network, can't be used.
            CancelledError: it was stopped.
        """
        from engine.build import make_tracker
        from engine.identity.live_match import match_live

        self._consents.require_own(self._photo.digest)
        model, embedder = self._recognition()
        (similarity,) = match_live(self._source, make_tracker(), [self._photo], embedder, ask=self._ask)
        self._consents.prove(self._photo.digest, model, similarity)
        return similarity

    def cancel(self) -> None:
        """Stop soon."""
        self._stopped.set()
        self._source.close()
