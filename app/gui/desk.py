"""The window as the control server sees it; see `app.server.desk`.

The server's threads ask, the GUI thread does: whatever is changed from outside goes through the same
widgets as a hand would, so that the window always shows what is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QPushButton

from app.gui.bridge import Bridge
from app.gui.controls import Controls
from app.gui.live import Live
from app.gui.recordings import Recordings
from app.gui.sidebar import Sidebar
from app.gui.sources import Sources
from app.server.desk import Choice, Recording
from engine.config import GuardPolicy
from engine.errors import DeviceError, InputError, UsageError
from engine.live.stats import Stats

if TYPE_CHECKING:
    from engine.events import Event

T = TypeVar("T")
_PATIENCE_S = 5.0
_START_S = 30.0


class WindowDesk(QObject):
    """See `app.server.desk.Desk`."""

    _asked = Signal(object)

    def __init__(
        self,
        bridge: Bridge,
        live: Live,
        recordings: Recordings,
        panels: Sidebar,
        controls: Controls,
        faces: Sources,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._bridge, self._live, self._panels, self._controls = bridge, live, panels, controls
        self._recordings, self._faces = recordings, faces
        self.swapper = "none"
        self.note_swapper()
        panels.swap.swapper_changed.connect(self.note_swapper)
        panels.vtuber.tracking_only_switched.connect(self.note_swapper)
        self._panic = False
        self._listeners: tuple[Callable[[Event], None], ...] = ()
        self._asked.connect(self._do, Qt.ConnectionType.QueuedConnection)
        bridge.happened.connect(self._heard)

    @property
    def strength(self) -> float:
        """See `Desk`."""
        return self._ask(lambda: self._panels.swap.strength.value() / 100)

    @property
    def guard(self) -> GuardPolicy:
        """See `Desk`."""
        return self._ask(lambda: self._panels.guard.config().policy)

    def stats(self) -> Stats:
        """See `Desk`."""
        return self._bridge.stats() or Stats()

    def start(self) -> None:
        """See `Desk`."""

        def start() -> None:
            if self._live.runs:
                raise UsageError("The stream runs already", "Stop it first")
            self._live.start()

        self._ask(start)
        deadline = time.monotonic() + _START_S
        while self.stats().state not in ("running", "recovering"):
            if not self._ask(lambda: self._live.runs) or time.monotonic() > deadline:
                raise DeviceError("The stream did not start", "Kawari's window says why")
            time.sleep(0.05)

    def stop(self) -> None:
        """See `Desk`."""
        self._ask(self._live.stop)
        deadline = time.monotonic() + _PATIENCE_S
        while self._bridge.stats() is not None and time.monotonic() < deadline:
            time.sleep(0.05)

    def panic(self, on: bool) -> None:
        """See `Desk`; covers at once, whatever the window is doing."""
        if self._bridge.stats() is None:
            raise UsageError("Nothing runs", "Start the stream first")
        self._bridge.panic(on)
        self._ask(lambda: self._controls.set_panic(on))

    def set_strength(self, strength: float) -> None:
        """See `Desk`."""
        self._ask(lambda: self._panels.swap.strength.setValue(round(strength * 100)))

    def set_guard(self, policy: GuardPolicy) -> None:
        """See `Desk`."""
        self._ask(lambda: self._panels.guard.set_policy(policy))

    def faces(self) -> list[Choice]:
        """See `Desk`."""

        def look() -> list[Choice]:
            current = self._faces.current
            return [Choice(str(at + 1), f"Face {at + 1}", at == current) for at in range(self._faces.count)]

        return self._ask(look)

    def wear(self, face: str) -> None:
        """See `Desk`."""
        known = [choice.id for choice in self.faces()]
        if face not in known:
            raise InputError(f"There is no face '{face}'", f"Choose one of: {', '.join(known)}")
        self._ask(lambda: self._faces.select(int(face) - 1))

    def cameras(self) -> list[Choice]:
        """See `Desk`."""
        return self._ask(self._panels.camera.choices)

    def use_camera(self, camera: str) -> None:
        """See `Desk`."""
        if camera not in [choice.id for choice in self.cameras()]:
            raise InputError(f"There is no camera '{camera}'", "Ask for the list")
        self._ask(lambda: self._panels.camera.select(camera))

    def outputs(self) -> list[Choice]:
        """See `Desk`."""

        def look() -> list[Choice]:
            return [Choice(key, name, button.isChecked()) for key, (name, button) in self._switches().items()]

        return self._ask(look)

    def switch_output(self, output: str, on: bool) -> None:
        """See `Desk`."""

        def switch() -> None:
            if output not in self._switches():
                raise InputError(f"There is no output '{output}'", "Ask for the list")
            _, button = self._switches()[output]
            if not button.isEnabled():
                raise UsageError("Nothing runs", "Start the stream first")
            button.setChecked(on)

        self._ask(switch)

    @property
    def recording(self) -> Recording:
        """See `Desk`."""
        return self._ask(lambda: self._recordings.state)

    def pause_recording(self, on: bool) -> None:
        """See `Desk`."""
        self._ask(lambda: self._recordings.pause(on))

    def split_recording(self) -> None:
        """See `Desk`."""
        self._ask(self._recordings.split)

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """See `Desk`."""
        self._listeners += (callback,)

        def unsubscribe() -> None:
            self._listeners = tuple(one for one in self._listeners if one is not callback)

        return unsubscribe

    # on the GUI thread

    def note_swapper(self) -> None:
        """Keep the swapper's name where the server's threads may read it."""
        panels = self._panels
        alone = panels.vtuber.tracking_only.isChecked()
        self.swapper = "none" if alone else panels.swap.swap_config().swapper

    def _switches(self) -> dict[str, tuple[str, QCheckBox | QPushButton]]:
        panels = self._panels
        return {
            "virtual-camera": ("Virtual camera", panels.virtual_camera.on),
            "recording": ("Recording", panels.record.record),
            "vmc": ("VMC, for VTuber programs", panels.vtuber.vmc),
        }

    def _do(self, work: Callable[[], None]) -> None:
        work()

    def _heard(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)

    def _ask(self, work: Callable[[], T]) -> T:
        """Do something on the GUI thread and wait for what it gives, or raises."""
        done: Future[Any] = Future()

        def do() -> None:
            try:
                done.set_result(work())
            except Exception as error:  # noqa: BLE001 - handed over whole
                done.set_exception(error)

        self._asked.emit(do)
        try:
            result: T = done.result(_PATIENCE_S)
        except Late:
            raise DeviceError("Kawari's window is busy", "Answer the question it asks") from None
        return result
