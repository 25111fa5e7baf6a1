"""Start, Stop, cover: what the window asks of the engine, and what it hears back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.gui.bridge import Bridge, Request
from app.gui.controls import Controls
from app.gui.record_panel import RecordPanel
from app.gui.stage import Stage
from app.gui.status_bar import Figures, StatusBar
from engine.types import Output, Shown

if TYPE_CHECKING:
    from engine.events import Event
    from engine.types import Image

_FIGURES_MS = 500
_WARNINGS = {
    "camera-lost", "sink-failed", "stage-failed", "engine-restart", "swapper-fallback", "detector-fallback",
    "extra-failed",
}  # fmt: skip


class Live(QObject):
    """Keeps the controls, the picture and the status line in step with the session.

    Args:
        bridge: the engine.
        request: gives what Start asks for; may raise `UsageError`.
    """

    failed = Signal(object)
    warned = Signal(str)
    """Something fails, the engine deals with it."""
    recovered = Signal()
    """The camera, or the swapper's network, is back."""
    figures = Signal(object)
    """`engine.live.stats.Stats` now and then, None when nothing runs any more."""

    def __init__(
        self,
        bridge: Bridge,
        request: Callable[[], Request],
        stage: Stage,
        controls: Controls,
        status: StatusBar,
        recording: RecordPanel,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._bridge, self._request = bridge, request
        self._stage, self._controls, self._status, self._panel = stage, controls, status, recording
        self._state = "idle"
        self._output: Output | None = None
        self.pass_through = False
        self._reasons = {  # of `Output.reason`, where it says more than what is shown
            "starting": (self.tr("Starting…"), "warn"),
            "panic": (self.tr("Covered by you"), "danger"),
            "camera-lost": (self.tr("Camera lost, trying again"), "warn"),
            "overload": (self.tr("Too slow, picture covered"), "warn"),
            "stage-failed": (self.tr("The swap failed, picture covered"), "warn"),
            "tracking-only": (self.tr("Tracking only, nobody is shown"), "good"),
            "not-looked": (self.tr("Looking for faces"), "warn"),
        }
        self._timer = QTimer(self)
        self._timer.setInterval(_FIGURES_MS)
        self._timer.timeout.connect(self._show_figures)
        controls.start_wanted.connect(self.start)
        controls.stop_wanted.connect(self.stop)
        controls.panic_switched.connect(bridge.panic)
        controls.compare_switched.connect(stage.preview.set_comparing)
        bridge.started.connect(self._started)
        bridge.ended.connect(self._ended)
        bridge.failed.connect(self.failed)
        bridge.happened.connect(self._happened)
        bridge.picture_ready.connect(self._show_picture)
        self._set_state("idle")

    @property
    def runs(self) -> bool:
        """A session runs, or is about to."""
        return self._state != "idle"

    def picture(self) -> Image | None:
        """The picture that left last; None while none did."""
        return None if self._output is None else self._output.image

    def start(self) -> None:
        """Start with what the panels say."""
        try:
            request = self._request()
        except Exception as error:  # noqa: BLE001 - shown in the window
            self.failed.emit(error)
            return
        self._set_state("starting")
        self._bridge.start(request)

    def stop(self) -> None:
        """Stop, outputs first finishing what they have."""
        if self.runs:
            self._set_state("stopping")
            self._bridge.stop()

    def toggle_panic(self) -> None:
        """Cover everything, or uncover it."""
        if self._state in ("running", "recovering"):
            self._controls.panic.toggle()

    # what the engine says

    def _started(self) -> None:
        self._set_state("running")

    def _happened(self, event: Event) -> None:
        state = event.data.get("state")
        if event.kind == "state" and state in ("running", "recovering") and self._state != "stopping":
            self._set_state(str(state))
        elif event.kind in _WARNINGS:
            self.warned.emit(event.message)
        elif event.kind in ("camera-back", "swapper-ready"):
            self.recovered.emit()
        elif event.kind == "panic" and event.message:  # not by the user's own button
            self._controls.set_panic(bool(event.data["on"]))
            self.warned.emit(event.message)

    def _ended(self) -> None:
        self._output = None
        self._stage.preview.show_output(None)
        self._set_state("idle")

    def _show_picture(self) -> None:
        output = self._bridge.take()
        if output is not None and self.runs:
            self._output = output
            self._stage.preview.show_output(output)

    # what the window shows

    def _set_state(self, state: str) -> None:
        self._state = state
        up = state in ("running", "recovering")
        self._controls.set_running(up or state == "stopping", busy=state in ("starting", "stopping"))
        self._panel.set_running(up)
        if up:
            self._timer.start()
        else:
            self._timer.stop()
            self._status.set_figures(None)
            self.figures.emit(None)
        self._show_state()

    def _show_figures(self) -> None:
        stats = self._bridge.stats()
        if stats is None:
            return
        step = stats.quality if stats.quality_step else ""
        self.figures.emit(stats)
        self._status.set_figures(Figures(stats.fps, stats.delay.p95, stats.faces, step))
        self._show_state()

    def _show_state(self) -> None:
        waits = {
            "idle": (self.tr("Stopped"), ""),
            "starting": (self.tr("Starting…"), "warn"),
            "stopping": (self.tr("Stopping…"), "warn"),
            "recovering": (self.tr("Camera lost, trying again"), "warn"),
        }
        text, tone = waits.get(self._state) or self._describe_output()
        self._status.set_state(text, tone)

    def _describe_output(self) -> tuple[str, str]:
        output = self._output
        if self.pass_through:
            return self.tr("Pass-through: your real face may be seen"), "danger"
        if output is None:
            return self.tr("Starting…"), "warn"
        if output.reason in self._reasons:
            return self._reasons[output.reason]
        return {
            Shown.SWAPPED: (self.tr("Live"), "good"),
            Shown.NOTHING_TO_SWAP: (self.tr("Live, nobody in the picture"), "good"),
            Shown.HELD: (self.tr("Face lost, picture held"), "warn"),
            Shown.COVERED: (self.tr("Face lost, picture covered"), "warn"),
            Shown.PASSED: (self.tr("Pass-through"), "danger"),
        }[output.shown]
