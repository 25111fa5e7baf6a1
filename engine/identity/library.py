"""The user's identities: who there is, what was prepared of them, and how to forget them.

Everything lies in one folder with rights 0700, each file 0600 (`engine.folders.home()/identities`):

    consent/<photo digest>.json     see `engine.identity.consent`
    people/<identity>.json          a name and the digests of its photos
    prepared/<key>.npz              what a swapper made of them; may hold a face's texture
    embeddings/<photo>-<model>.npy  what a recognition network made of them, see `EmbeddingCache`

The last two are encrypted where the system has a key store, see `engine.identity.seal`. Photos
themselves are never copied.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from engine.errors import DeviceError
from engine.folders import home, remove_unfinished, write_private
from engine.identity.consent import ConsentStore
from engine.identity.demo import is_demo
from engine.identity.photo import SourcePhoto
from engine.identity.prepared import PreparedStore
from engine.identity.seal import KEY, Seal
from engine.keystore import KeyStore
from engine.swap.base import Swapper
from engine.version import __version__

IdentityT = TypeVar("IdentityT")
_PREPARED = "prepared"
_EMBEDDINGS = "embeddings"


@dataclass(frozen=True, slots=True)
class Identity:
    """A person whose face can be worn.

    Attributes:
        name: as the user calls them.
        photos: digests of one to five photos, in the order given.
    """

    name: str
    photos: tuple[str, ...]

    @property
    def id(self) -> str:
        """SHA-256 (hex) of the photos' digests."""
        return _hash(*self.photos)


class IdentityLibrary:
    """Identities, their consents and what was prepared of them. Thread-safe.

    Args:
        folder: where all of it is kept; the user's own when not given.
        consents: the records; those in the folder when not given.
        memory: prepared identities kept in memory, the last used.
        keys: where the key of what is encrypted lies; beside the folder when not given.
    """

    def __init__(
        self,
        folder: Path | None = None,
        consents: ConsentStore | None = None,
        *,
        memory: int = 8,
        keys: KeyStore | None = None,
    ) -> None:
        self._folder = home() / "identities" if folder is None else folder
        self._keys = keys or KeyStore(self._folder.parent)
        self.consents = consents or ConsentStore(self._folder / "consent")
        self._stored = PreparedStore(self._folder / _PREPARED, seal_of(self._folder, self._keys))
        self._memory = memory
        self._prepared: OrderedDict[str, tuple[tuple[str, ...], Any]] = OrderedDict()
        self._lock = threading.RLock()

    # ---- who there is ---------------------------------------------------------------------------

    def add(self, name: str, photos: Sequence[SourcePhoto]) -> Identity:
        """Remember a person under a name.

        Raises:
            RefusedError: a photo has no valid consent.
            DeviceError: it can't be written.
        """
        identity = Identity(name, tuple(photo.digest for photo in photos))
        for digest in identity.photos:
            self.consents.require(digest)
        text = json.dumps({"name": name, "photos": identity.photos}, ensure_ascii=False)
        with _disk("The identity can't be kept"):
            write_private(self._person(identity), text.encode())
        return identity

    def identities(self) -> tuple[Identity, ...]:
        """Everybody remembered, by name; a file that can't be understood is left out."""
        found = []
        for path in (self._folder / "people").glob("*.json"):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                stored = json.loads(path.read_bytes())
                identity = Identity(str(stored["name"]), tuple(str(each) for each in stored["photos"]))
                if identity.id == path.stem:
                    found.append(identity)
        return tuple(sorted(found, key=lambda each: each.name.casefold()))

    # ---- what was prepared of them --------------------------------------------------------------

    def prepare(
        self, swapper: Swapper[IdentityT], photos: Sequence[SourcePhoto], options: str = ""
    ) -> IdentityT:
        """What `swapper.prepare(photos)` gives, from memory or disk if it was made before.

        On disk only identities that are dataclasses of arrays are kept, for swappers that name
        their class as `identity_type`.

        Args:
            swapper: its name is part of the key.
            photos: of the same person.
            options: settings of the swapper that change what it prepares.

        Raises:
            RefusedError: a photo has no valid consent.
            InputError: the swapper can't use the photos.
        """
        digests = tuple(photo.digest for photo in photos)
        for digest in digests:
            self.consents.require(digest)
        key = _hash(__version__, swapper.name, options, *digests)
        kind = getattr(swapper, "identity_type", None)
        private = not all(is_demo(digest) for digest in digests)
        with self._lock:
            if key in self._prepared:
                self._prepared.move_to_end(key)
                known: IdentityT = self._prepared[key][1]
                return known
            stored = self._stored.load(key, kind, private=private) if kind is not None else None
            identity: IdentityT = swapper.prepare(photos) if stored is None else stored
            if stored is None and kind is not None:
                self._stored.save(key, digests, identity, private=private)
            self._prepared[key] = (digests, identity)
            while len(self._prepared) > self._memory:
                self._prepared.popitem(last=False)
            return identity

    # ---- forgetting -----------------------------------------------------------------------------

    def revoke(self, digest: str) -> None:
        """Take back the consent for a photo; all that was made of it goes, too.

        Raises:
            DeviceError: something can't be removed.
        """
        self.consents.revoke(digest)
        with self._lock, _disk("The prepared identity can't be removed"):
            for key in [key for key, (digests, _) in self._prepared.items() if digest in digests]:
                del self._prepared[key]
            self._stored.remove(digest)
            remove_unfinished(embeddings_of(self._folder))
            for path in embeddings_of(self._folder).glob(f"{digest[:32]}-*"):
                path.unlink(missing_ok=True)

    def forget(self, identity: Identity) -> None:
        """Remove a person: the name, what was prepared, and consents that nobody else needs.

        Raises:
            DeviceError: something can't be removed.
        """
        with _disk("The identity can't be removed"):
            self._person(identity).unlink(missing_ok=True)
        needed = {digest for other in self.identities() for digest in other.photos}
        for digest in identity.photos:
            if digest not in needed:
                self.revoke(digest)

    def forget_everything(self) -> None:
        """Remove the whole folder and what is in memory.

        Raises:
            DeviceError: something can't be removed.
        """
        with self._lock, _disk("Not everything can be removed"):
            self._prepared.clear()
            if self._folder.exists():
                shutil.rmtree(self._folder)
            self._keys.delete(KEY)

    def _person(self, identity: Identity) -> Path:
        return self._folder / "people" / f"{identity.id}.json"


def embeddings_of(folder: Path) -> Path:
    """Where the embeddings' cache of a library in `folder` is."""
    return folder / _EMBEDDINGS


def seal_of(folder: Path, keys: KeyStore | None = None) -> Seal:
    """What encrypts the caches of a library in `folder`."""
    folders = (folder / _PREPARED, embeddings_of(folder))
    return Seal(keys or KeyStore(folder.parent), folders)


@contextlib.contextmanager
def _disk(message: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DeviceError(
            f"{message} ({error.strerror})", "Check the disk and the folder's rights"
        ) from error


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
