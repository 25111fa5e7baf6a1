"""The window: picture, panels, and how they are tied together."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QElapsedTimer, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QVBoxLayout, QWidget

from app.gui import settings as remembered
from app.gui.bridge import Bridge, Request
from app.gui.camera_panel import DEMO
from app.gui.consents import Consents
from app.gui.controls import Controls
from app.gui.desk import WindowDesk
from app.gui.live import Live
from app.gui.outputs import Outputs
from app.gui.people import People
from app.gui.recordings import Recordings
from app.gui.settings import Settings, WindowConfig
from app.gui.sidebar import Sidebar
from app.gui.sound import Sound
from app.gui.sources import Sources
from app.gui.stage import Stage
from app.gui.status_bar import StatusBar
from app.gui.verifying import Verifying
from engine.config import GuardConfig, GuardPolicy, SessionConfig
from engine.errors import UsageError
from engine.identity.library import IdentityLibrary
from engine.live.stats import Stats

if TYPE_CHECKING:
    from engine.sources.base import Source

_TWICE_MS = 700
_SETTLE_MS = 300
"""A size is typed letter by letter: the camera is opened anew only after a pause."""


class MainWindow(QMainWindow):
    """Everything that is seen.

    Args:
        library: the identities and their consents.
        path: the settings file; None to remember nothing.
        settings: to begin with instead of the remembered ones.
    """

    def __init__(
        self, library: IdentityLibrary, path: Path | None = None, settings: Settings | None = None
    ) -> None:
        super().__init__()
        self.setWindowTitle("Kawari")
        self._path = path
        self.final_stats: Stats | None = None
        """The figures of the session that ran when the window was closed."""
        self._shown = False
        notes: list[str] = []
        if settings is None:
            settings, notes = remembered.load(path) if path is not None else (Settings(), [])
        self._settings = settings
        self.stage, self.controls, self.status = Stage(), Controls(), StatusBar()
        self.sidebar = Sidebar(self._settings)
        self._lay_out()

        self.bridge = Bridge(library, self, self._settings.neural)
        panels = self.sidebar
        self.sources = Sources(panels.source, self.bridge, library.consents, self)
        self.sound = Sound(self.bridge, panels.sound, self)
        self.recordings = Recordings(
            self.bridge, panels.record, self._settings.output, self.sound,
            lambda: self.desk.swapper, lambda: self.live.picture(), self,
        )  # fmt: skip
        self.live = Live(
            self.bridge, self._request, self.stage, self.controls, self.status, panels.record, self,
        )  # fmt: skip
        self.desk = WindowDesk(
            self.bridge, self.live, self.recordings, panels, self.controls, self.sources, self
        )
        self.outputs = Outputs(self.bridge, panels, self.desk, self._settings.output, self)
        self.people = People(self.stage.preview, panels.swap, self.sources, self.bridge, self)
        self.consents = Consents(panels.consents, self.sources, library, self.bridge, self._real_camera, self)
        self.verifying = Verifying(panels.verify, self.bridge, self)
        self._connect()
        for note in notes:
            self.stage.banners.show_message("info", note)
        self._tell_camera()

    def _lay_out(self) -> None:
        left = QVBoxLayout()
        left.setSpacing(12)
        left.addWidget(self.stage, 1)
        left.addWidget(self.controls)
        left.addWidget(self.status)
        central = QWidget()
        central.setObjectName("central")
        row = QHBoxLayout(central)
        row.setContentsMargins(16, 16, 10, 12)
        row.setSpacing(16)
        row.addLayout(left, 1)
        row.addWidget(self.sidebar)
        self.setCentralWidget(central)
        window = self._settings.window
        self.resize(window.width, window.height)
        if window.maximised:
            self.setWindowState(Qt.WindowState.WindowMaximized)

    def _connect(self) -> None:
        panels, banners = self.sidebar, self.stage.banners
        self.live.failed.connect(banners.show_error)
        self.outputs.failed.connect(banners.show_error)
        panels.vtuber.tracking_only_switched.connect(self._restart)
        self.verifying.failed.connect(banners.show_error)
        self.consents.failed.connect(banners.show_error)
        self.consents.told.connect(lambda text, detail: banners.show_message("info", text, detail))
        self.live.figures.connect(panels.figures.show_stats)
        self.live.figures.connect(self.sound.show_stats)
        self.live.warned.connect(lambda sentence: banners.show_message("warn", sentence))
        self.live.recovered.connect(lambda: banners.clear("warn"))
        self.recordings.failed.connect(banners.show_error)
        self.recordings.warned.connect(lambda sentence: banners.show_message("warn", sentence))
        self.recordings.saved.connect(lambda path: banners.show_message("info", self.tr("Saved"), path))
        self.sources.failed.connect(banners.show_error)
        self.sources.changed.connect(self._use_photos)
        self.sources.worn.connect(lambda: panels.photos.set_sources(self.sources.sources))
        panels.swap.swapper_changed.connect(self._swapper_changed)
        panels.swap.strength_changed.connect(self.bridge.set_strength)
        panels.guard.changed.connect(self._guard_changed)
        panels.badge.changed.connect(self.bridge.set_badge)
        panels.camera.refresh_wanted.connect(self.find_cameras)
        panels.camera.changed.connect(self._camera_changed)
        QShortcut(QKeySequence(Qt.Key.Key_F12), self, self.live.toggle_panic)
        escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), self, self._escape)
        escape.setAutoRepeat(False)
        self._since_escape = QElapsedTimer()
        self._switch_soon = QTimer(self, singleShot=True, interval=_SETTLE_MS)
        self._switch_soon.timeout.connect(self._switch_camera)

    # what the person does

    def _request(self) -> Request:
        panels = self.sidebar
        tracking_only = panels.vtuber.tracking_only.isChecked()
        if not any(self.sources.faces) and not tracking_only:
            raise UsageError(
                self.tr("There is no face to swap in yet"), self.tr("Wait until the photo was read")
            )
        config = SessionConfig(
            swap=panels.swap.swap_config(),
            guard=panels.guard.config(),
            delay=self._settings.delay,
            tracking_only=tracking_only,
        )
        choice = self.people.wanted.choice()
        return Request(config, panels.camera.config(), self.sources.faces, choice, panels.badge.config())

    def _guard_changed(self, guard: GuardConfig) -> None:
        self.live.pass_through = guard.policy is GuardPolicy.PASS
        self.bridge.set_guard(guard)

    def _real_camera(self) -> Source:
        """The chosen camera for something else than the stream."""
        from engine.sources.camera import CameraSource

        if self.live.runs:
            raise UsageError(self.tr("The stream uses the camera"), self.tr("Stop it first"))
        config = self.sidebar.camera.config()
        if not self.sidebar.camera.real:  # a clip says nothing about who is here
            raise UsageError(self.tr("This needs a real camera"), self.tr("Choose one under Swap"))
        return CameraSource(config.camera, size=config.pixels, fps=config.fps)

    def _camera_changed(self) -> None:
        self._tell_camera()
        if self.live.runs:
            self._switch_soon.start()

    def _use_photos(self) -> None:
        self.sidebar.photos.set_sources(self.sources.sources)
        self.bridge.use_faces(self.sidebar.swap.swap_config().swapper, self.sources.faces)

    def _swapper_changed(self) -> None:
        """Another swapper needs another session; without one, get it ready."""
        if self.live.runs:
            self._restart()
        elif any(self.sources.faces):
            self._use_photos()

    def _restart(self) -> None:
        """What runs goes on in another session, with what is chosen now."""
        if self.live.runs:
            self.bridge.ended.connect(self.live.start, Qt.ConnectionType.SingleShotConnection)
            self.live.stop()

    def find_swappers(self) -> None:
        """Look for the swappers that were added, and offer them."""
        self.bridge.look_up(_added_swappers, self._swappers_found)

    def _swappers_found(self, found: object) -> None:
        if isinstance(found, list):
            self.sidebar.swap.offer(found)
        elif isinstance(found, Exception):
            self.stage.banners.show_error(found)

    def _switch_camera(self) -> None:
        try:
            self.bridge.switch_camera(self.sidebar.camera.config())
        except UsageError as error:
            self.stage.banners.show_error(error)

    def _escape(self) -> None:
        """Twice in a row covers the picture, for hands that don't find F12 in time."""
        if self._since_escape.isValid() and self._since_escape.elapsed() < _TWICE_MS:
            self._since_escape.invalidate()
            self.live.toggle_panic()
        else:
            self._since_escape.start()

    # cameras

    def find_cameras(self) -> None:
        """Look for cameras and offer them."""
        from engine.devices import list_cameras, list_virtual_cameras

        self.bridge.look_up(list_virtual_cameras, self._virtual_cameras_found)
        self.bridge.look_up(lambda: list_cameras(include_virtual=True), self._cameras_found)

    def _cameras_found(self, found: object) -> None:
        if isinstance(found, list):
            self.sidebar.camera.set_cameras([camera for camera in found if not camera.is_virtual])
            self.sidebar.verify.set_cameras(found)
            self._tell_camera()
        elif isinstance(found, Exception):
            self.stage.banners.show_error(found)

    def _virtual_cameras_found(self, found: object) -> None:
        if isinstance(found, list):
            self.outputs.offer(found)
        elif isinstance(found, Exception):
            self.stage.banners.show_error(found)

    def _tell_camera(self) -> None:
        demo = self.sidebar.camera.stored_config().camera == DEMO
        self.stage.preview.set_hint(
            self.tr("Press Start. The demo camera needs no hardware.") if demo else self.tr("Press Start.")
        )

    # life

    def start_when_ready(self, record: Path | None = None) -> None:
        """Start as soon as all photos were read; record from then on."""
        once = Qt.ConnectionType.SingleShotConnection
        self.sources.ready.connect(self.live.start, once)
        if record is not None:
            self.bridge.started.connect(lambda: self.recordings.record(record), once)

    def showEvent(self, event: QShowEvent) -> None:
        """Once the window is on the screen, look for cameras and read the photos."""
        super().showEvent(event)
        if not self._shown:
            self._shown = True
            QTimer.singleShot(0, self._warm_up)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember the settings, stop everything, then go."""
        self.hide()
        if self._path is not None:
            with contextlib.suppress(OSError):
                remembered.save(self._path, self.current_settings())
        self.final_stats = self.bridge.stats()
        self.outputs.close()
        self.verifying.cancel()
        self.consents.cancel()
        self.bridge.close()
        self.recordings.wait()
        super().closeEvent(event)

    def current_settings(self) -> Settings:
        """What the panels say now."""
        panels, size = self.sidebar, self.normalGeometry().size()
        return Settings(
            swap=panels.swap.swap_config(),
            guard=panels.guard.config(),
            badge=panels.badge.config(),
            neural=self._settings.neural,
            delay=self._settings.delay,
            camera=panels.camera.stored_config(),
            output=self.outputs.config(),
            sound=self.sound.config(),
            window=WindowConfig(size.width(), size.height(), self.isMaximized()),
            faces=self.sources.remembered,
        )

    def _warm_up(self) -> None:
        self.find_cameras()
        self.find_swappers()
        self.sound.find_devices()
        self.sources.restore(self._settings.faces)
        self.outputs.restore()


def _added_swappers() -> list[tuple[str, str]]:
    """Name and title of each swapper in the user's store."""
    from engine.catalog import open_store
    from engine.catalog.entry import Kind
    from engine.folders import home

    store = open_store(home())
    entries = [entry for entry in store.catalogue.values() if entry.kind is Kind.SWAPPER]
    return [(entry.name, entry.title) for entry in entries if store.installed(entry.name) is not None]
