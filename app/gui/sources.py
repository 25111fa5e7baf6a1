"""The faces that may be worn: reading their photos, asking which face and whether it may be used."""

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
from app.gui.settings import Remembered
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


MOST_FACES = 4


class _Face:
    """The photos of one person; told apart by identity."""

    def __init__(self) -> None:
        self.sources: list[Source] = []

    @property
    def remembered(self) -> tuple[tuple[str, int], ...]:
        return tuple((str(source.path), source.number) for source in self.sources if source.path)


class Sources(QObject):
    """Keeps the faces, each one person's photos, and the panel that shows one of them in step.

    Args:
        panel: shows them and asks for changes.
        bridge: reads photos on its look-up thread.
        consents: where the answers are kept.
        window: parent of the dialogs.
    """

    changed = Signal()
    """Other photos are in use."""
    worn = Signal(int)
    """Number of the face that is worn from now on, from 0."""
    face_removed = Signal(int)
    """Number that a face had which is gone; those after it have moved up."""
    ready = Signal()
    """All that was to be read was read, and there is a face."""
    failed = Signal(object)

    def __init__(self, panel: SourcePanel, bridge: Bridge, consents: ConsentStore, window: QWidget) -> None:
        super().__init__(window)
        self._panel, self._bridge, self._consents, self._window = panel, bridge, consents, window
        self._photos = Photos(consents)
        self._faces = [_Face()]
        self._shown = self._faces[0]
        self._reading = 0
        panel.photos_given.connect(self.add)
        panel.removed.connect(self.remove)
        panel.built_in_wanted.connect(self.use_built_in)
        panel.face_wanted.connect(self.add_face)
        panel.face_selected.connect(self.select)

    @property
    def count(self) -> int:
        """How many faces there are; a new one may have no photo yet."""
        return len(self._faces)

    @property
    def current(self) -> int:
        """Number of the face that is shown."""
        return self._faces.index(self._shown)

    @property
    def faces(self) -> tuple[tuple[SourcePhoto, ...], ...]:
        """The photos of each face."""
        return tuple(tuple(source.photo for source in face.sources) for face in self._faces)

    @property
    def photos(self) -> tuple[SourcePhoto, ...]:
        """The photos of the face that is shown."""
        return self.faces[self.current]

    @property
    def sources(self) -> tuple[Source, ...]:
        """The photos of the face that is shown, with where they come from."""
        return tuple(self._shown.sources)

    @property
    def all_sources(self) -> tuple[Source, ...]:
        """The same for all faces."""
        return tuple(source for face in self._faces for source in face.sources)

    @property
    def remembered(self) -> Remembered:
        """What the settings keep; the built-in face needs no entry."""
        kept = tuple(face.remembered for face in self._faces)
        return kept if any(kept) else ()

    def restore(self, remembered: Remembered) -> None:
        """Take up the photos of the last time; a face without any is the built-in one."""
        self._faces = [_Face() for _ in remembered] or [_Face()]
        self._shown = self._faces[0]
        for face, entries in zip(self._faces, remembered or ((),), strict=True):
            for name, number in entries:
                self._look(partial(self._photos.read, Path(name), number), face)
            if not entries:
                self._look(self._photos.built_in, face)

    def use_built_in(self) -> None:
        """Use the face that comes with Kawari instead of photos."""
        self._shown.sources = []
        self._look(self._photos.built_in, self._shown)

    def add(self, paths: Iterable[Path]) -> None:
        """Read new photos of the face that is shown."""
        for path in paths:
            self._look(partial(self._photos.first_look, path), self._shown)

    def add_face(self) -> None:
        """Begin another face, for another person before the camera, or to change over to."""
        if self._shown.sources and len(self._faces) < MOST_FACES:
            self._shown = _Face()
            self._faces.append(self._shown)
            self._show(changed=False)

    def select(self, number: int) -> None:
        """Show a face, and wear it if it has photos; one that was left without any is given up."""
        face = self._faces[number]
        left, self._shown = self._shown, face
        if left is not face and not left.sources and not self._reading:
            self._drop(left)
        self._show(changed=False)
        if face.sources:
            self.worn.emit(self.current)

    def remove(self, row: int) -> None:
        """Do without a photo; after the last one comes the built-in face, or the face goes."""
        face = self._shown
        if 0 <= row < len(face.sources):
            del face.sources[row]
        if face.sources:
            self._show()
        elif len(self._faces) > 1:
            number = self.current
            self._shown = self._faces[number - 1 if number else 1]
            self._drop(face)
            self._show()
            self.worn.emit(self.current)
        else:
            self.use_built_in()

    def forget(self, digest: str) -> None:
        """Do without a photo whose consent was taken back."""
        for number, face in enumerate(self._faces):
            for row, source in enumerate(face.sources):
                if source.photo.digest == digest:
                    self.select(number)
                    self.remove(row)
                    return

    def _drop(self, face: _Face) -> None:
        number = self._faces.index(face)
        del self._faces[number]
        self.face_removed.emit(number)

    def _look(self, work: Callable[[], Source | Choice], face: _Face) -> None:
        self._reading += 1
        self._panel.set_busy(True)
        self._bridge.look_up(work, partial(self._answer, face))

    def _answer(self, face: _Face, result: object) -> None:
        self._reading -= 1
        self._panel.set_busy(self._reading > 0)
        if isinstance(result, Choice):
            self._choose(result, face)
        elif isinstance(result, Source):
            self._accept(result, face)
        else:
            self.failed.emit(result)
        if self._reading:
            return
        if not self._faces[0].sources:
            self._look(self._photos.built_in, self._faces[0])
        else:
            self.ready.emit()

    def _choose(self, choice: Choice, face: _Face) -> None:
        height, width = choice.picture.shape[:2]
        boxes = [
            (x0 * width, y0 * height, x1 * width, y1 * height)
            for x0, y0, x1, y1 in (f.box for f in choice.faces)
        ]
        dialog = FaceChooser(choice.picture, boxes, self._window)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            number = choice.faces[dialog.number].number
            self._look(partial(self._photos.read, choice.path, number), face)

    def _accept(self, source: Source, face: _Face) -> None:
        if any(one.photo.digest == source.photo.digest for one in face.sources):
            return
        if source.path is not None and not self._has_consent(source):
            self._ask_consent(source, face)
            return
        own = [one for one in face.sources if one.path]
        if (source.path is None and own) or face not in self._faces:
            return
        if len(own) >= MOST:
            self.failed.emit(
                UsageError(self.tr("Five photos of one person are the most"), self.tr("Remove one first"))
            )
            return
        first = not face.sources
        face.sources = [*own, source]
        self._show()
        if first and face is self._shown:
            self.worn.emit(self.current)

    def _has_consent(self, source: Source) -> bool:
        with contextlib.suppress(RefusedError):
            self._consents.require(source.photo.digest)
            return True
        return False

    def _ask_consent(self, source: Source, face: _Face) -> None:
        dialog = ConsentDialog(thumbnail(source.photo, 112), self._window)
        if dialog.exec() != QDialog.DialogCode.Accepted:
            return
        answer = dialog.answer

        def record() -> Source:
            answer.record(self._consents, source.photo.digest)
            return source

        self._look(record, face)

    def _show(self, *, changed: bool = True) -> None:
        self._panel.set_faces(len(self._faces), self.current)
        self._panel.set_sources(self._shown.sources)
        if changed:
            self.changed.emit()
