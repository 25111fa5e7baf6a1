"""A neural swapper that never stops: provider after provider, then the exact file, then the mesh.

While the next network is opened, on a thread of its own, the mesh swapper swaps: nobody waits, and
nobody's face is seen.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import InputError, ModelError
from engine.events import Report, silent
from engine.identity.photo import SourcePhoto
from engine.quality import LADDER, Quality
from engine.runtime.climb import Steps, UnsoundError, reason
from engine.swap.base import FaceSwap, Swapper
from engine.swap.neural.swapper import NeuralIdentity, NeuralSwapper
from engine.types import Face, Image, Patch

_PATIENCE = 3
"""Frames in a row without a picture before the network counts as broken: a face at the edge, or one
that is half hidden, may rarely make a sound network fail."""


@dataclass(frozen=True, slots=True)
class FallbackIdentity:
    """A source person for the network, and for the mesh; None where the mesh can't use the photos."""

    neural: NeuralIdentity
    mesh: Any | None


class FallbackSwapper:
    """Swaps with a network as long as one runs, else with the mesh.

    Args:
        neural: the swapper; its `session` is replaced when it fails.
        steps: gives the next session after a failure, and says what the present one runs on.
        mesh: swaps in the meantime, and for good when no network runs.

    Attributes:
        name: the catalogue's name of the network.
        limit_s: longest time that a picture may take, 0 for any: a network that needs more (as its
            warm-up shows) leaves the work to the mesh. Live sessions set it.
        report: takes "swapper-fallback", "swapper-ready", and what the network's extras tell; the
            pipeline sets its own.
    """

    def __init__(
        self,
        neural: NeuralSwapper,
        steps: Steps,
        mesh: Swapper[Any],
    ) -> None:
        self.name = neural.name
        self._report: Report = silent
        self.limit_s = 0.0
        self._slow_told = False
        self.neural = neural
        self.mesh = mesh
        self.steps = steps
        self._lock = threading.Lock()
        self._usable = threading.Event()
        self._usable.set()
        self._unsound = 0

    @property
    def report(self) -> Report:
        """Takes events."""
        return self._report

    @report.setter
    def report(self, report: Report) -> None:
        self._report = self.neural.report = report

    @property
    def runs_on(self) -> str:
        """The provider's name, or "mesh" while the network does not run."""
        slow = 0 < self.limit_s < self.steps.seconds
        return self.steps.rung if self._usable.is_set() and not slow else self.mesh.name

    def prepare(self, photos: Sequence[SourcePhoto]) -> FallbackIdentity:
        """See `engine.swap.base.Swapper`; both are prepared, so that a failure costs no frame."""
        neural = self.neural.prepare(photos)
        try:
            return FallbackIdentity(neural, self.mesh.prepare(photos))
        except InputError:
            return FallbackIdentity(neural, None)

    def follow(self, identity: FallbackIdentity) -> FallbackFaceSwap:
        """See `engine.swap.base.Swapper`."""
        return FallbackFaceSwap(self, identity)

    def session(self) -> Any | None:
        """The session in use; None while there is none."""
        if not self._usable.is_set():
            return None
        if 0 < self.limit_s < self.steps.seconds:
            self._tell_slow()
            return None
        return self.neural.session

    def _tell_slow(self) -> None:
        if not self._slow_told:
            self._slow_told = True
            self.report(
                "swapper-fallback",
                f"{self.name} takes {self.steps.seconds:.1f} s a picture on {self.steps.rung}, too long for "
                "live pictures: the mesh swapper is used. A GPU, or a version in lower precision (kawari "
                "models quantize), would be faster",
                rung=self.mesh.name,
                seconds=self.steps.seconds,
            )

    def worked(self) -> None:
        """The network gave a picture."""
        self._unsound = 0

    def failed(self, error: Exception, session: Any) -> None:
        """The network failed with this session; starts looking for another way to run it."""
        with self._lock:
            if not self._usable.is_set() or session is not self.neural.session:
                return  # another face of the same frame has told it already
            if isinstance(error, UnsoundError):
                self._unsound += 1
                if self._unsound < _PATIENCE:
                    return
            self._usable.clear()
            self._unsound = 0
        self.report(
            "swapper-fallback",
            f"{self.name} failed on {self.steps.rung} ({reason(error)}); the mesh swapper goes on",
            rung=self.steps.rung,
            error=type(error).__name__,
        )
        threading.Thread(target=self._replace, args=(error,), name="kawari-model", daemon=True).start()

    def _replace(self, error: Exception) -> None:
        self.neural.session = None  # its memory is needed by the next one
        try:
            session = self.steps.step(error)
        except ModelError as problem:
            self.report("swapper-fallback", f"{problem.message}; the mesh swapper stays", rung=self.mesh.name)
            return
        with self._lock:
            self.neural.session = session
            self._usable.set()
        self.report("swapper-ready", f"{self.name} runs on {self.steps.rung} now", rung=self.steps.rung)


class FallbackFaceSwap:
    """Swaps one face with the network, or the mesh; not thread-safe.

    Attributes:
        quality: handed to both.
    """

    def __init__(self, swapper: FallbackSwapper, identity: FallbackIdentity) -> None:
        self.quality: Quality = LADDER[0]
        self._swapper = swapper
        self._identity = identity
        self._neural = swapper.neural.follow(identity.neural)
        self._mesh: FaceSwap | None = None

    def patch(self, image: Image, face: Face, strength: float) -> Patch | None:
        """See `engine.swap.base.FaceSwap`; never raises for a network's failure."""
        session = self._swapper.session()
        if session is not None:
            try:
                self._neural.quality = self.quality
                patch = self._neural.patch(image, face, strength)
                self._swapper.worked()
                return patch
            except Exception as error:  # noqa: BLE001 - whatever a provider raises, the mesh goes on
                self._swapper.failed(error, session)
        return self._by_mesh(image, face, strength)

    def _by_mesh(self, image: Image, face: Face, strength: float) -> Patch | None:
        if self._identity.mesh is None:
            return None
        if self._mesh is None:
            self._mesh = self._swapper.mesh.follow(self._identity.mesh)
        if hasattr(self._mesh, "quality"):
            self._mesh.quality = self.quality
        return self._mesh.patch(image, face, strength)
