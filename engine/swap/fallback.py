"""A neural swapper that never stops: provider after provider, then the exact file, then the mesh.

While the next network is opened, on a thread of its own, the mesh swapper swaps: nobody waits, and
nobody's face is seen. Frames that live on a device come back to the host when the device fails.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.align import five_points
from engine.errors import InputError, ModelError
from engine.events import Report, silent
from engine.guard.proof import replaced_in
from engine.identity.photo import SourcePhoto
from engine.quality import LADDER, Quality
from engine.runtime.climb import Steps, UnsoundError, reason
from engine.runtime.network import most_together
from engine.runtime.overlapped import DEPTH
from engine.swap.base import FaceSwap, Job, Made, Swapper, one_by_one
from engine.swap.neural.on_device import Aimed, DeviceFrame, DeviceSwap, Outcome
from engine.swap.neural.swapper import NeuralIdentity, NeuralSwapper
from engine.types import Face, Image, Patch

_PATIENCE = 3
"""Frames in a row without a picture before the network counts as broken: a face at the edge, or one
that is half hidden, may rarely make a sound network fail."""

MakeDeviceSwap = Callable[[Any], DeviceSwap | None]
"""Makes the swap of frames that live on the device a session runs on, checked; None if it runs on none.
Raises if it should work and does not."""


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
        device_swap: for a session on a device.

    Attributes:
        name: the catalogue's name of the network.
        limit_s: longest time that a picture may take, 0 for any: a network that needs more (as its
            warm-up shows) leaves the work to the mesh. Live sessions set it.
        report: takes "swapper-fallback", "swapper-ready", and what the network's extras tell; the
            pipeline sets its own.
        on_device: swaps frames on the device; None while they stay on the host.
        device_refusal: why they do although they need not, "" if there is nothing to say.
    """

    def __init__(
        self,
        neural: NeuralSwapper,
        steps: Steps,
        mesh: Swapper[Any],
        device_swap: MakeDeviceSwap = lambda session: None,
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
        self._make_device_swap = device_swap
        self.on_device: DeviceSwap | None = None
        self.device_refusal = ""
        self._use(neural.session)

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

    @property
    def depth(self) -> int:
        """See `engine.swap.base.FrameSwapper`."""
        return 1 if self.on_device is None else DEPTH

    def begin(self, frame: Image, jobs: Sequence[Job]) -> Away | None:
        """See `engine.swap.base.FrameSwapper`."""
        session, swap = self.session(), self.on_device
        if session is None or swap is None or swap.network is not session:
            return None
        try:
            aims = [job.swap.aim(swap, job.face) for job in jobs]
            seen = [(job.face, aim) for job, aim in zip(jobs, aims, strict=True) if aim is not None]
            return Away(self, swap, frame, seen) if seen else None
        except Exception as error:  # noqa: BLE001 - whatever a device raises, the host goes on
            self.lost(swap, error)
            return None

    def lost(self, swap: DeviceSwap, error: Exception) -> None:
        """Frames can't be swapped on the device: they stay on the host from now on."""
        if swap is not self.on_device:
            return  # a frame that was under way at the same time has told it already
        self.on_device, self.device_refusal = None, reason(error)
        with contextlib.suppress(Exception):  # a device that is gone has no memory to give back
            swap.device.free()
        self.report(
            "swapper-fallback",
            f"Frames stay on the host from now on, {swap.device.name} failed ({reason(error)})",
            rung=self.steps.rung,
            error=type(error).__name__,
        )

    def patches(self, frame: Image, jobs: Sequence[Job], strength: float) -> list[Made]:
        """See `engine.swap.base.FrameSwapper`."""
        session = self.session()
        if session is None:
            return self._by_mesh(frame, jobs, strength)
        made: list[Made]
        try:
            made = self.neural.patches(frame, [job.swap.by_network(job.face) for job in jobs])
        except Exception as error:  # noqa: BLE001 - whatever a provider raises, the mesh goes on
            made = [error] * len(jobs)
        for index, one in enumerate(made):
            if isinstance(one, Exception):
                self.failed(one, session)
                (made[index],) = self._by_mesh(frame, jobs[index : index + 1], strength)
            else:
                self.worked()
        return made

    def _by_mesh(self, frame: Image, jobs: Sequence[Job], strength: float) -> list[Made]:
        return list(one_by_one(frame, [job.swap.by_mesh(job.face) for job in jobs], strength))

    def _use(self, session: Any) -> None:
        """Run on this session from now on."""
        self.neural.session, self.neural.together = session, most_together(session)
        if self.device_refusal:
            return  # what failed once in this life may fail again
        try:
            self.on_device = self._make_device_swap(session)
        except Exception as error:  # noqa: BLE001
            self.device_refusal = reason(error)

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
        self.neural.session = self.on_device = None  # their memory is needed by the next one
        try:
            session = self.steps.step(error)
        except ModelError as problem:
            self.report("swapper-fallback", f"{problem.message}; the mesh swapper stays", rung=self.mesh.name)
            return
        self._use(session)
        with self._lock:
            self._usable.set()
        self.report("swapper-ready", f"{self.name} runs on {self.steps.rung} now", rung=self.steps.rung)


class Away:
    """A frame under way on the device; see `engine.swap.base.UnderWay`."""

    def __init__(
        self, swapper: FallbackSwapper, swap: DeviceSwap, frame: Image, seen: Sequence[tuple[Face, Aimed]]
    ) -> None:
        self._swapper = swapper
        self._swap = swap
        self._frame = frame
        self._seen = seen
        self._under_way: DeviceFrame = swap.begin(frame, [aim for _, aim in seen])

    @property
    def ready(self) -> bool:
        """See `engine.swap.base.UnderWay`."""
        try:
            return self._under_way.ready
        except Exception:  # noqa: BLE001 - `collect` tells it
            return True

    def collect(self) -> tuple[Image, list[int]] | None:
        """See `engine.swap.base.UnderWay`."""
        try:
            image, outcomes = self._under_way.result()
        except Exception as error:  # noqa: BLE001 - whatever a device raises, the host goes on
            self._swapper.lost(self._swap, error)
            return None
        swapped = [
            face.id
            for (face, aim), outcome in zip(self._seen, outcomes, strict=False)
            if outcome is Outcome.SWAPPED
            and replaced_in(self._frame, image, face, self._swap.mask(aim), aim.matrix)
        ]
        if swapped:
            self._swapper.worked()
        return image, swapped


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
        (made,) = self._swapper.patches(image, [Job(face, self)], strength)
        if isinstance(made, Exception):
            raise made
        return made

    def aim(self, swap: DeviceSwap, face: Face) -> Aimed | None:
        """The face, as the device is told of it; None if it can't be swapped."""
        points = five_points(face.landmarks)
        if not np.isfinite(points).all():
            return None
        neural = self._handed(self._neural)
        return swap.aim(points, neural.source, neural.boost)

    def by_network(self, face: Face) -> Job:
        """The job for the network."""
        return Job(face, self._handed(self._neural))

    def by_mesh(self, face: Face) -> Job:
        """The job for the mesh."""
        if self._mesh is None:
            mesh, identity = self._swapper.mesh, self._identity.mesh
            self._mesh = _Nobody() if identity is None else mesh.follow(identity)
        return Job(face, self._handed(self._mesh))

    def _handed(self, swap: Any) -> Any:
        if hasattr(swap, "quality"):
            swap.quality = self.quality
        return swap


class _Nobody:
    """The mesh's part where it can't use the photos."""

    def patch(self, image: Image, face: Face, strength: float) -> Patch | None:
        del image, face, strength
        return None
