"""The photos in use: reading new ones, asking which face and whether it may be used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QDialog, QWidget

from app.gui.bridge import Bridge
from app.gui.consent_dialog import ConsentDialog
from app.gui.face_chooser import FaceChooser
from app.gui.source_panel import MOST, Source, SourcePanel, thumbnail
from engine.errors import InputError, RefusedError, UsageError
from engine.types import Image

if TYPE_CHECKING:
    from engine.identity.consent import ConsentStore
    from engine.identity.import_photo import PhotoReader
    from engine.identity.photo import FaceInPhoto, SourcePhoto


@dataclass(frozen=True)
class Choice:
    """A photo with several faces that can be used.

    Attributes:
        path: the file.
        picture: the whole photo, upright, to choose from.
        faces: those that can be used.
    """

    path: Path
    picture: Image
    faces: tuple[FaceInPhoto, ...]


class Photos:
    """Reads photos; used by the bridge's look-up thread only, so that one reader serves all.

    Args:
        consents: photos with one were checked when they were imported.
    """

    def __init__(self, consents: ConsentStore) -> None:
        self._consents = consents

    @cached_property
    def _reader(self) -> PhotoReader:
        from app.build import photo_gate
        from engine.identity.import_photo import PhotoReader

        return PhotoReader(screen=photo_gate(self._consents))

    def built_in(self) -> Source:
        """The face that comes with Kawari."""
        from engine.identity.demo import demo_photo

        return Source(None, 1, demo_photo(self._reader))

    def read(self, path: Path, number: int) -> Source:
        """One face of a photo."""
        return Source(path, number, self._reader.read(path, face=number))

    def first_look(self, path: Path) -> Source | Choice:
        """The only face of a photo, or the choice of several."""
        try:
            photo = self._reader.read(path)
            faces = photo.found
        except InputError:  # the largest face can't be used; another one perhaps
            faces = self._reader.faces(path)
            if not any(face.usable for face in faces):
                raise
        usable = tuple(face for face in faces if face.usable)
        if len(usable) == 1:
            return self.read(path, usable[0].number)
        from engine.identity.picture import read_picture

        return Choice(path, read_picture(path, max_side=1600), usable)


class Sources(QObject):
    """Keeps the list of photos and the panel that shows it in step.

    Args:
        panel: shows them and asks for changes.
        bridge: reads photos on its look-up thread.
        consents: where the answers are kept.
        window: parent of the dialogs.
    """

    changed = Signal()
    """Other photos are in use."""
    ready = Signal()
    """All that was to be read was read, and there is a face."""
    failed = Signal(object)

    def __init__(self, panel: SourcePanel, bridge: Bridge, consents: ConsentStore, window: QWidget) -> None:
        super().__init__(window)
        self._panel, self._bridge, self._consents, self._window = panel, bridge, consents, window
        self._photos = Photos(consents)
        self._sources: list[Source] = []
        self._reading = 0
        panel.photos_given.connect(self.add)
        panel.removed.connect(self.remove)
        panel.built_in_wanted.connect(self.use_built_in)

    @property
    def photos(self) -> tuple[SourcePhoto, ...]:
        """What is swapped in."""
        return tuple(source.photo for source in self._sources)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The photos with where they come from."""
        return tuple(self._sources)

    @property
    def remembered(self) -> tuple[tuple[str, int], ...]:
        """What the settings keep; the built-in face needs no entry."""
        return tuple((str(source.path), source.number) for source in self._sources if source.path)

    def restore(self, remembered: Iterable[tuple[str, int]]) -> None:
        """Take up the photos of the last time, or the built-in face."""
        entries = list(remembered)
        for name, number in entries:
            self._look(partial(self._photos.read, Path(name), number))
        if not entries:
            self.use_built_in()

    def use_built_in(self) -> None:
        """Use the face that comes with Kawari instead of photos."""
        self._sources = []
        self._look(self._photos.built_in)

    def add(self, paths: Iterable[Path]) -> None:
        """Read new photos."""
        for path in paths:
            self._look(partial(self._photos.first_look, path))

    def remove(self, row: int) -> None:
        """Do without a photo; after the last one comes the built-in face."""
        if 0 <= row < len(self._sources):
            del self._sources[row]
        if self._sources:
            self._show()
        else:
            self.use_built_in()

    def forget(self, digest: str) -> None:
        """Do without a photo whose consent was taken back."""
        for row, source in enumerate(self._sources):
            if source.photo.digest == digest:
                self.remove(row)
                return

    def _look(self, work: Callable[[], Source | Choice]) -> None:
        self._reading += 1
        self._panel.set_busy(True)
        self._bridge.look_up(work, self._answer)

    def _answer(self, result: object) -> None:
        self._reading -= 1
        self._panel.set_busy(self._reading > 0)
        if isinstance(result, Choice):
            self._choose(result)
        elif isinstance(result, Source):
            self._accept(result)
        else:
            self.failed.emit(result)
        if self._reading:
            return
        if self._sources:
            self.ready.emit()
        else:
            self.use_built_in()

    def _choose(self, choice: Choice) -> None:
        height, width = choice.picture.shape[:2]
        boxes = [
            (x0 * width, y0 * height, x1 * width, y1 * height)
            for x0, y0, x1, y1 in (f.box for f in choice.faces)
        ]
        dialog = FaceChooser(choice.picture, boxes, self._window)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            number = choice.faces[dialog.number].number
            self._look(partial(self._photos.read, choice.path, number))

    def _accept(self, source: Source) -> None:
        if any(one.photo.digest == source.photo.digest for one in self._sources):
            return
        if source.path is not None and not self._has_consent(source):
            self._ask_consent(source)
            return
        own = [one for one in self._sources if one.path]
        if source.path is None and own:
            return
        if len(own) >= MOST:
            self.failed.emit(
                UsageError(self.tr("Five photos of one person are the most"), self.tr("Remove one first"))
            )
            return
        self._sources = [*own, source]
        self._show()

    def _has_consent(self, source: Source) -> bool:
        with contextlib.suppress(RefusedError):
            self._consents.require(source.photo.digest)
            return True
        return False

    def _ask_consent(self, source: Source) -> None:
        dialog = ConsentDialog(thumbnail(source.photo, 112), self._window)
        if dialog.exec() != QDialog.DialogCode.Accepted:
            return
        answer = dialog.answer

        def record() -> Source:
            answer.record(self._consents, source.photo.digest)
            return source

        self._look(record)

    def _show(self) -> None:
        self._panel.set_sources(self._sources)
        self.changed.emit()
