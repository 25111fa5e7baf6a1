"""The only crossing between engine threads and widgets.

Widgets call the methods here. What may take time runs on one of three threads of the bridge: one
starts, stops and changes the engine in order, one looks things up (cameras, photos), one examines
files, which may take a minute. Answers come as signals, which Qt delivers on the GUI thread; nothing
else in the window knows a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from app.options import CameraConfig
from engine.config import BadgeConfig, GuardConfig, NeuralConfig, SessionConfig, SwapConfig
from engine.sinks.preview import PreviewSink
from engine.track.choice import FaceChoice
from engine.types import Output

if TYPE_CHECKING:
    from engine.events import Event
    from engine.identity.library import IdentityLibrary
    from engine.identity.photo import SourcePhoto
    from engine.live.dispatch import Route
    from engine.live.session import Session
    from engine.live.stats import Stats
    from engine.mark.badge import Badge
    from engine.sinks.base import Sink
    from engine.swap.base import Swapper


Faces = Sequence[Sequence["SourcePhoto"]]
"""Photos of each face that may be worn; the first is that of source 0."""


@dataclass(frozen=True)
class Request:
    """What is to run."""

    config: SessionConfig
    camera: CameraConfig
    faces: Faces
    choice: FaceChoice = field(default_factory=FaceChoice)
    badge: BadgeConfig = field(default_factory=BadgeConfig)


class Bridge(QObject):
    """Owns the session, and the threads that work for the window.

    Args:
        library: prepares identities, and refuses those without consent.
    """

    started = Signal()
    """The session runs."""
    ended = Signal()
    """There is no session any more."""
    failed = Signal(object)
    """Something did not work: an exception."""
    happened = Signal(object)
    """An `engine.events.Event`."""
    picture_ready = Signal()
    """`take` has a new picture."""
    sink_added = Signal(object)
    """A sink that now gets pictures."""
    sink_gone = Signal(object)
    """A sink that gets no more."""
    sink_refused = Signal(str)
    """Name of a sink that could not be opened."""

    def __init__(
        self,
        library: IdentityLibrary,
        parent: QObject | None = None,
        neural: NeuralConfig | None = None,
    ) -> None:
        super().__init__(parent)
        self._library = library
        self._neural = neural
        self._engine = ThreadPoolExecutor(1, "kawari-window-engine")
        self._lookup = ThreadPoolExecutor(1, "kawari-window-lookup")
        self._examiner = ThreadPoolExecutor(1, "kawari-window-examine")
        self._session: Session | None = None
        self._preview = PreviewSink(self._wake)
        self._woken = False
        self._swapper: Swapper[Any] | None = None
        self._badge: Badge | None = None
        self._closed = False

    # for the engine's thread, in order

    def start(self, request: Request) -> None:
        """Start a session; `started`, or `failed` and `ended`, tell how it went."""
        self._run(self._engine, lambda: self._start(request))

    def stop(self) -> None:
        """Stop the session; `ended` follows."""
        self._run(self._engine, self._stop)

    def use_faces(self, swapper: str, faces: Faces) -> None:
        """Get these faces ready, and swap with them from now on if a session runs."""

        def use() -> None:
            _, identities = self._prepare(swapper, faces)  # kept by the library
            if self._session is not None:
                for source, identity in identities.items():
                    self._session.set_identity(identity, source)

        self._run(self._engine, use)

    def switch_camera(self, camera: CameraConfig) -> None:
        """Go on with another camera; the outputs get a card meanwhile."""

        def switch() -> None:
            from app.build import source_giver

            if self._session is not None:
                self._session.switch_source(source_giver(camera))

        self._run(self._engine, switch)

    def add_sink(self, make: Callable[[], Sink | Route], name: str) -> None:
        """Feed one more sink, of that name; `sink_added`, or `failed` and `sink_refused`, tell how it went.

        While nothing runs, nothing happens.
        """

        def add() -> None:
            if self._session is None:
                return
            try:
                made = make()
                self._session.add_sink(made)
            except Exception:
                self.sink_refused.emit(name)
                raise
            self.sink_added.emit(getattr(made, "sink", made))

        self._run(self._engine, add)

    def remove_sink(self, sink: Sink) -> None:
        """Close a sink once it has written what it got; `sink_gone` follows."""

        def remove() -> None:
            if self._session is not None:
                self._session.remove_sink(sink)
            self.sink_gone.emit(sink)

        self._run(self._engine, remove)

    # for the look-up thread

    def look_up(self, work: Callable[[], Any], answer: Callable[[Any], None]) -> None:
        """Do something slow, then give its result, or the exception it raised, to `answer` here."""
        self._ask(self._lookup, work, answer)

    def examine(self, work: Callable[[], Any], answer: Callable[[Any], None]) -> None:
        """As `look_up`, for what may take a minute."""
        self._ask(self._examiner, work, answer)

    def _ask(self, pool: ThreadPoolExecutor, work: Callable[[], Any], answer: Callable[[Any], None]) -> None:
        reply = _Reply(self, answer)

        def look() -> None:
            try:
                result = work()
            except Exception as error:  # noqa: BLE001 - handed over whole
                result = error
            reply.given.emit(result)

        self._run(pool, look)

    # at once; the session's own methods are safe to call from here

    def take(self) -> Output | None:
        """The newest picture, if there is one that was not taken yet."""
        self._woken = False
        return self._preview.take()

    def stats(self) -> Stats | None:
        """Figures of the running session."""
        session = self._session
        return session.stats() if session is not None else None

    def panic(self, on: bool) -> None:
        """Cover everything, or uncover it."""
        if self._session is not None:
            self._session.panic(on)

    def set_strength(self, strength: float) -> None:
        """See `SwapConfig.strength`."""
        if self._session is not None:
            self._session.set_strength(strength)

    def set_choice(self, choice: FaceChoice) -> None:
        """Swap other faces, or other faces with other sources."""
        if self._session is not None:
            self._session.set_choice(choice)

    def set_guard(self, guard: GuardConfig) -> None:
        """Change what is shown instead of an unswapped face."""
        if self._session is not None:
            self._session.set_guard(guard)

    def set_badge(self, badge: BadgeConfig) -> None:
        """Show the visible mark elsewhere, otherwise, or not at all."""
        session = self._session
        if self._badge is not None and session is not None and not session.config.tracking_only:
            self._badge.config = badge

    def close(self) -> None:
        """Stop everything; returns when no thread is left."""
        self._closed = True
        session = self._session
        if session is not None:
            session.stop()  # at once, even if the engine's thread waits for a camera to open
        for pool in (self._engine, self._lookup, self._examiner):
            pool.shutdown(wait=True, cancel_futures=True)
        self._finish()

    # inside

    def _run(self, pool: ThreadPoolExecutor, work: Callable[[], None]) -> None:
        if self._closed:
            return

        def guarded() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - the window shows it
                self.failed.emit(error)

        pool.submit(guarded)

    def _start(self, request: Request) -> None:
        from app.build import make_session, source_giver
        from engine.mark.badge import Badge

        try:
            self._finish()
            self._badge = Badge(request.badge)
            identities: dict[int, Any] = {}
            if request.config.tracking_only:  # nothing is synthetic then
                self._badge.config = replace(request.badge, shown=False)
                swapper = self._make(SwapConfig.swapper)
            else:
                swapper, identities = self._prepare(request.config.swap.swapper, request.faces)
            source = source_giver(request.camera)
            session = make_session(
                request.config, source, swapper, identities.get(0), [self._preview], badge=self._badge
            )
            for number, identity in identities.items():
                session.set_identity(identity, number)
            session.set_choice(request.choice)
            self._session = session
            session.subscribe(self._tell)
            if self._closed:
                return
            session.start()
        except Exception:
            self._session = None
            self.ended.emit()
            raise
        self.started.emit()

    def _stop(self) -> None:
        if self._session is not None:
            self._finish()
            self.ended.emit()

    def _finish(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.stop()

    def _prepare(self, name: str, faces: Faces) -> tuple[Swapper[Any], dict[int, Any]]:
        """The swapper, and what it made of each face that has photos."""
        swapper = self._make(name)
        return swapper, {
            number: self._library.prepare(swapper, photos) for number, photos in enumerate(faces) if photos
        }

    def _make(self, name: str) -> Swapper[Any]:
        if self._swapper is None or self._swapper.name != name:
            from engine.swap import make_swapper

            self._swapper = make_swapper(name, config=self._neural)
        return self._swapper

    def _tell(self, event: Event) -> None:
        """On the session's event thread."""
        self.happened.emit(event)
        if event.kind == "state" and event.data.get("state") == "finished":
            self._run(self._engine, self._ended_by_itself)

    def _ended_by_itself(self) -> None:
        session = self._session
        if session is None or session.reason is None:
            return
        self._finish()
        self.ended.emit()
        if session.error is not None:
            self.failed.emit(session.error)

    def _wake(self) -> None:
        """On the preview's thread; one call is enough until the picture was taken."""
        if not self._woken:
            self._woken = True
            self.picture_ready.emit()


class _Reply(QObject):
    """Carries one answer to the GUI thread."""

    given = Signal(object)

    def __init__(self, parent: QObject, answer: Callable[[Any], None]) -> None:
        super().__init__(parent)
        self._answer = answer
        self.given.connect(self._deliver)

    def _deliver(self, result: Any) -> None:
        self._answer(result)
        self.deleteLater()
