"""The user's models: files that were checked, with the hashes they had."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.catalog.check import check_file
from engine.catalog.download import Progress, fetch
from engine.catalog.entry import Entry
from engine.catalog.trial import try_out
from engine.errors import DeviceError, ModelError, RefusedError, UsageError
from engine.folders import private_folder, write_private


@dataclass(frozen=True, slots=True)
class Installed:
    """A model in the store.

    Attributes:
        entry: what it is.
        path: where it is.
        sha256: of the file when it was checked.
        trusted: it need not be the published file: the user said so.
    """

    entry: Entry
    path: Path
    sha256: str
    trusted: bool = False


class Store:
    """A folder of checked model files.

    A file appears in it whole and checked or not at all; `path` checks the SHA-256 again before a
    model is used, once as long as the file's time and size stay the same.

    Args:
        folder: created when the first model comes.
        catalogue: the known models by name.
        mirror: a folder that is looked into before the network, for machines without one.
        trial: tries files that nobody vouches for, see `engine.catalog.trial`.
    """

    def __init__(
        self,
        folder: Path,
        catalogue: Mapping[str, Entry],
        mirror: Path | None = None,
        trial: Callable[[Path], None] = try_out,
    ) -> None:
        self.folder = folder
        self.catalogue = catalogue
        self.mirror = mirror
        self.trial = trial
        self._notes = folder / "store.json"
        self._checked: dict[str, tuple[str, int, int]] = {}

    def entry(self, name: str) -> Entry:
        """The catalogue's entry.

        Raises:
            ModelError: there is none of that name.
        """
        try:
            return self.catalogue[name]
        except KeyError:
            raise ModelError(
                f"There is no model {name!r}", "See the names with: kawari models list"
            ) from None

    def installed(self, name: str) -> Installed | None:
        """The model if it is in the store (not checked again), else None."""
        note = self._read()["models"].get(name)
        entry = self.entry(name)
        path = self.folder / entry.file
        if note is None or not path.is_file():
            return None
        trusted = bool(note.get("trusted"))
        return Installed(_other(entry) if trusted else entry, path, str(note.get("sha256", "")), trusted)

    def path(self, name: str) -> Path:
        """Path of a model, after its hash was compared with the one it had at import.

        Raises:
            ModelError: it is not in the store, or was changed.
        """
        installed = self.installed(name)
        if installed is None:
            entry = self.entry(name)
            raise ModelError(
                f"The model {name} is not on this computer",
                f"Get it with: kawari models get {name} — or, if you have the file: "
                f"kawari models import {name} FILE (licence: {entry.licence})",
            )
        status = installed.path.stat()
        state = (installed.sha256, status.st_mtime_ns, status.st_size)
        if self._checked.get(name) != state:
            check_file(installed.path, installed.entry, installed.sha256)
            self._checked[name] = state
        return installed.path

    def verify(self, name: str) -> Installed:
        """Check an installed model again. Raises as `path`."""
        self._checked.pop(name, None)
        self.path(name)
        installed = self.installed(name)
        assert installed is not None  # `path` has just found it
        return installed

    def accepted(self, name: str) -> bool:
        """Whether the user has accepted the licence of this model."""
        return name in self._read()["licences"]

    def accept(self, name: str) -> None:
        """Note that the user accepted the licence."""
        notes = self._read()
        notes["licences"] = sorted({*notes["licences"], self.entry(name).name})
        self._write(notes)

    def add(self, name: str, source: Path, *, trust: bool = False) -> Installed:
        """Import a file the user already has; the file itself is left alone.

        Args:
            name: of the entry.
            source: the file.
            trust: it need not be the published file (a conversion of the user's own, say): its
                contract is checked, and its own hash counts from now on.

        Raises:
            ModelError: it is not that model. The store is untouched.
            RefusedError: its licence has not been accepted.
            DeviceError: the disk is full.
        """
        entry = self.entry(name)
        self._require_licence(entry)
        if not source.is_file():
            raise ModelError(f"There is no file {source.name}", "Check the path")
        if trust:
            entry = _other(entry)
        digest = check_file(source, entry, "" if trust else self._pinned(name), self.trial)
        try:
            private_folder(self.folder)
            with tempfile.NamedTemporaryFile(dir=self.folder, suffix=".part", delete=False) as target:
                part = Path(target.name)
            try:
                shutil.copyfile(source, part)
                return self._place(entry, part, digest, trust=trust)
            finally:
                part.unlink(missing_ok=True)
        except OSError as error:
            raise _unwritable(error) from None

    def get(self, name: str, progress: Progress | None = None) -> Installed:
        """Get a model from the mirror folder or the network; does nothing if it is there and sound.

        Raises as `add`, and `ModelError` if no address works.
        """
        entry = self.entry(name)
        self._require_licence(entry)
        if self.installed(name) is not None:
            return self.verify(name)
        if self.mirror is not None and (self.mirror / entry.file).is_file():
            return self.add(name, self.mirror / entry.file)
        if not entry.urls:
            raise ModelError(
                f"{entry.title} has no public address",
                f"If you have the file: kawari models import {name} FILE",
            )
        part = self.folder / f"{entry.file}.part"
        try:
            private_folder(self.folder)
        except OSError as error:
            raise _unwritable(error) from None
        known = entry.sha256 or self._pinned(name)
        problem: ModelError | None = None
        for url in entry.urls:
            if not known:
                # Only a hash can tell whether two halves belong together.
                part.unlink(missing_ok=True)
            try:
                fetch(url, part, entry.size, progress)
            except ModelError as error:
                problem = error
                continue
            try:
                return self._place(entry, part, self._pinned(name))
            except ModelError as error:
                part.unlink(missing_ok=True)  # whole but wrong: nothing to go on from
                problem = error
        if problem is None:
            raise UsageError(f"{entry.title} has no address")
        raise problem

    def remove(self, name: str) -> bool:
        """Delete a model; True if there was one."""
        entry = self.entry(name)
        notes = self._read()
        known = notes["models"].pop(name, None) is not None
        self._write(notes)
        for path in (self.folder / entry.file, self.folder / f"{entry.file}.part"):
            path.unlink(missing_ok=True)
        return known

    def _require_licence(self, entry: Entry) -> None:
        if not self.accepted(entry.name):
            raise RefusedError(
                f"The licence of {entry.title} ({entry.licence}, commercial use: {entry.commercial.value}) "
                "has not been accepted",
                f"Read it at {entry.licence_url or 'its publisher'} and add --accept-licence",
            )

    def _pinned(self, name: str) -> str:
        """The hash noted at an earlier import; that of a trusted file binds nobody."""
        note = self._read()["models"].get(name, {})
        return "" if note.get("trusted") else str(note.get("sha256", ""))

    def _place(self, entry: Entry, part: Path, expected: str, *, trust: bool = False) -> Installed:
        digest = check_file(part, entry, expected, self.trial)
        path = self.folder / entry.file
        part.replace(path)
        notes = self._read()
        notes["models"][entry.name] = {"sha256": digest, "pinned": not entry.sha256, "trusted": trust}
        self._write(notes)
        return Installed(entry, path, digest, trust)

    def _read(self) -> dict[str, Any]:
        empty: dict[str, Any] = {"models": {}, "licences": []}
        try:
            notes = {**empty, **json.loads(self._notes.read_text(encoding="utf-8"))}
            if not all(isinstance(note, dict) for note in notes["models"].values()):
                raise ValueError("not a store's notes")
            return {**notes, "licences": list(notes["licences"])}
        except FileNotFoundError:
            return empty
        except (OSError, ValueError, TypeError, AttributeError):
            raise ModelError(
                "The model store's notes can't be read",
                f"Delete {self._notes.name} and import the models again",
            ) from None

    def _write(self, notes: dict[str, Any]) -> None:
        try:
            write_private(self._notes, json.dumps(notes, indent=1, sort_keys=True).encode())
        except OSError as error:
            raise DeviceError(
                f"The model store can't be written: {error.strerror}", "Free some space and try again"
            ) from None


def _unwritable(error: OSError) -> DeviceError:
    return DeviceError(f"The model can't be written: {error.strerror}", "Free some space and try again")


def _other(entry: Entry) -> Entry:
    """The entry without what identifies the published file."""
    return replace(entry, sha256="", size=0)
