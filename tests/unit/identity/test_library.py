"""Identities: prepared once, kept privately, forgotten completely."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import RefusedError
from engine.identity.consent import Basis
from engine.identity.demo import demo_photo
from engine.identity.library import Identity, IdentityLibrary, seal_of
from engine.identity.photo import SourcePhoto, photo_digest
from engine.identity.prepared import MAX_FILES, PreparedStore
from engine.swap.base import FaceSwap
from engine.swap.mesh import MeshSwapper


@dataclass(frozen=True)
class Atlas:
    pyramid: tuple[np.ndarray, ...]
    mean: np.ndarray


class Averager:
    """A small real swapper: its identity is the photos' mean colour and a pyramid of the first."""

    name = "averager"
    identity_type = Atlas

    def __init__(self) -> None:
        self.prepared = 0

    def prepare(self, photos: Sequence[SourcePhoto]) -> Atlas:
        self.prepared += 1
        image = photos[0].image
        mean = np.mean([photo.image.mean((0, 1)) for photo in photos], 0)
        return Atlas(tuple(image[::step, ::step] for step in range(1, 13)), mean)

    def follow(self, identity: Atlas) -> FaceSwap:
        raise NotImplementedError


class Forgetful(Averager):
    """One whose identities are not to be kept on disk."""

    name = "forgetful"
    identity_type = None  # type: ignore[assignment]


@pytest.fixture(scope="module")
def photo() -> SourcePhoto:
    """The built-in portrait under another digest, so that it needs consent like any other."""
    return replace(demo_photo(), digest=photo_digest("01" * 32, 1))


@pytest.fixture(scope="module")
def second(photo: SourcePhoto) -> SourcePhoto:
    return replace(photo, image=photo.image[:, ::-1].copy(), digest=photo_digest("02" * 32, 1))


@pytest.fixture
def library(tmp_path: Path, photo: SourcePhoto, second: SourcePhoto) -> IdentityLibrary:
    library = IdentityLibrary(tmp_path / "identities")
    for each in (photo, second):
        library.consents.give(each.digest, Basis.SELF)
    return library


def files(folder: Path, kind: str) -> list[Path]:
    return sorted((folder / "identities" / kind).glob("*"))


def test_prepared_once_for_each_choice(
    library: IdentityLibrary, photo: SourcePhoto, second: SourcePhoto
) -> None:
    swapper = Averager()
    first = library.prepare(swapper, [photo])
    assert library.prepare(swapper, [photo]) is first
    assert swapper.prepared == 1
    library.prepare(swapper, [photo, second])
    library.prepare(swapper, [photo], options="sharp")
    library.prepare(Forgetful(), [photo])
    assert swapper.prepared == 3
    assert library.prepare(swapper, [photo]) is first


def test_the_next_start_reads_it_from_disk(
    library: IdentityLibrary, photo: SourcePhoto, tmp_path: Path
) -> None:
    before = library.prepare(Averager(), [photo])
    swapper = Averager()
    after = IdentityLibrary(tmp_path / "identities").prepare(swapper, [photo])
    assert swapper.prepared == 0
    np.testing.assert_array_equal(after.mean, before.mean)
    assert len(after.pyramid) == len(before.pyramid)
    for a, b in zip(after.pyramid, before.pyramid, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_the_mesh_swappers_identity_survives(tmp_path: Path) -> None:
    before = IdentityLibrary(tmp_path / "identities").prepare(MeshSwapper(), [demo_photo()])
    (path,) = files(tmp_path, "prepared")
    assert path.stat().st_size < 4 * 2**20
    after = PreparedStore(path.parent, seal_of(tmp_path)).load(
        path.stem, MeshSwapper.identity_type, private=False
    )
    for field in fields(before):
        np.testing.assert_equal(getattr(after, field.name), getattr(before, field.name))


def test_not_on_disk_unless_the_swapper_says_so(
    library: IdentityLibrary, photo: SourcePhoto, tmp_path: Path
) -> None:
    library.prepare(Forgetful(), [photo])
    assert files(tmp_path, "prepared") == []


@pytest.mark.parametrize("content", [b"", b"PK\3\4 nonsense", None])
def test_a_damaged_file_is_prepared_again(
    content: bytes | None, library: IdentityLibrary, photo: SourcePhoto, tmp_path: Path
) -> None:
    library.prepare(Averager(), [photo])
    (path,) = files(tmp_path, "prepared")
    path.write_bytes(path.read_bytes()[:-400] if content is None else content)
    swapper = Averager()
    IdentityLibrary(tmp_path / "identities").prepare(swapper, [photo])
    assert swapper.prepared == 1


def test_a_changed_class_is_prepared_again(
    library: IdentityLibrary, photo: SourcePhoto, tmp_path: Path
) -> None:
    library.prepare(Averager(), [photo])

    @dataclass(frozen=True)
    class Newer(Atlas):
        shape: np.ndarray

    @dataclass(frozen=True)
    class Older:
        mean: np.ndarray

    store = PreparedStore(tmp_path / "identities" / "prepared", seal_of(tmp_path))
    (path,) = files(tmp_path, "prepared")
    assert store.load(path.stem, Atlas) is not None
    assert store.load(path.stem, Newer) is None
    assert store.load(path.stem, Older) is None


def test_without_consent_nothing_is_prepared(tmp_path: Path, photo: SourcePhoto) -> None:
    library, swapper = IdentityLibrary(tmp_path / "identities"), Averager()
    with pytest.raises(RefusedError):
        library.prepare(swapper, [demo_photo(), photo])
    with pytest.raises(RefusedError):
        library.add("Me", [photo])
    assert swapper.prepared == 0
    assert not (tmp_path / "identities").exists()
    library.prepare(swapper, [demo_photo()])


def test_without_consent_a_kept_one_is_not_given_out(library: IdentityLibrary, photo: SourcePhoto) -> None:
    library.prepare(Averager(), [photo])
    library.consents.revoke(photo.digest)
    with pytest.raises(RefusedError):
        library.prepare(Averager(), [photo])


def test_revoking_removes_what_was_made_of_the_photo(
    library: IdentityLibrary, photo: SourcePhoto, second: SourcePhoto, tmp_path: Path
) -> None:
    swapper = Averager()
    for photos in ([photo], [second], [second, photo]):
        library.prepare(swapper, photos)
    library.revoke(photo.digest)
    assert len(files(tmp_path, "prepared")) == 1
    library.consents.give(photo.digest, Basis.SELF)
    library.prepare(swapper, [second])
    assert swapper.prepared == 3
    library.prepare(swapper, [second, photo])
    assert swapper.prepared == 4


def test_memory_and_disk_are_bounded(tmp_path: Path, photo: SourcePhoto) -> None:
    library = IdentityLibrary(tmp_path / "identities", memory=2)
    library.consents.give(photo.digest, Basis.SELF)
    forgetful = Forgetful()
    for options in "abc":
        library.prepare(forgetful, [photo], options)
    library.prepare(forgetful, [photo], "c")
    assert forgetful.prepared == 3
    library.prepare(forgetful, [photo], "a")
    assert forgetful.prepared == 4
    store = PreparedStore(tmp_path / "many", seal_of(tmp_path))
    for number in range(MAX_FILES + 3):
        assert store.save(f"{number:064x}", (photo.digest,), Atlas((), np.zeros(1)))
        os.utime(tmp_path / "many" / f"{number:064x}.npz", (number, number))
    assert len(list((tmp_path / "many").iterdir())) == MAX_FILES
    assert store.load(f"{MAX_FILES + 2:064x}", Atlas) is not None


@pytest.mark.parametrize("identity", [3, "x", Atlas((1,), np.zeros(1)), Atlas((), np.array([{}]))])  # type: ignore[arg-type]
def test_only_plain_arrays_are_kept(identity: Any, tmp_path: Path) -> None:
    assert not PreparedStore(tmp_path, seal_of(tmp_path)).save("0" * 64, (), identity)
    assert list(tmp_path.iterdir()) == []


def test_threads_prepare_once(library: IdentityLibrary, photo: SourcePhoto) -> None:
    swapper = Averager()
    threads = [threading.Thread(target=library.prepare, args=(swapper, [photo])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert swapper.prepared == 1


def test_people(library: IdentityLibrary, photo: SourcePhoto, second: SourcePhoto, tmp_path: Path) -> None:
    zoe = library.add("Zoë 人", [photo, second])
    ann = library.add("ann", [second])
    assert IdentityLibrary(tmp_path / "identities").identities() == (ann, zoe)
    library.prepare(Averager(), [photo, second])
    library.prepare(Averager(), [second])
    library.forget(zoe)
    assert library.identities() == (ann,)
    assert library.consents.find(photo.digest) is None
    assert library.consents.find(second.digest) is not None  # still needed
    assert len(files(tmp_path, "prepared")) == 1
    library.forget(zoe)  # twice does no harm


def test_unreadable_people_are_left_out(library: IdentityLibrary, photo: SourcePhoto, tmp_path: Path) -> None:
    identity = library.add("Me", [photo])
    (path,) = files(tmp_path, "people")
    (path.parent / f"{'0' * 64}.json").write_bytes(path.read_bytes())  # not its own name
    (path.parent / "junk.json").write_text("[")
    assert library.identities() == (identity,)
    assert identity == Identity("Me", (photo.digest,))


@pytest.mark.skipif(os.name != "posix", reason="POSIX rights")
def test_rights(library: IdentityLibrary, photo: SourcePhoto, tmp_path: Path) -> None:
    library.add("Me", [photo])
    library.prepare(Averager(), [photo])
    paths = [tmp_path / "identities", *(tmp_path / "identities").rglob("*")]
    assert len(paths) >= 7
    for path in paths:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_forget_everything(library: IdentityLibrary, photo: SourcePhoto, tmp_path: Path) -> None:
    library.add("Me", [photo])
    swapper = Averager()
    library.prepare(swapper, [photo])
    library.forget_everything()
    library.forget_everything()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RefusedError):
        library.prepare(swapper, [photo])
    library.consents.give(photo.digest, Basis.SELF)
    library.prepare(swapper, [photo])
    assert swapper.prepared == 2


def test_no_name_and_no_picture_in_file_names(
    library: IdentityLibrary, photo: SourcePhoto, tmp_path: Path
) -> None:
    library.add("Secret Name", [photo])
    assert "Secret" not in " ".join(str(path) for path in tmp_path.rglob("*"))


def test_the_users_own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, photo: SourcePhoto) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "moved"))
    IdentityLibrary().consents.give(photo.digest, Basis.SELF)
    assert (tmp_path / "moved" / "identities" / "consent" / f"{photo.digest}.json").is_file()
