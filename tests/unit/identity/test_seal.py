"""What is kept of a face is encrypted where there is a key store, and only a cache in any case."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from engine.identity.consent import Basis
from engine.identity.demo import demo_photo, portrait_path
from engine.identity.embedding import EmbeddingCache
from engine.identity.library import IdentityLibrary, embeddings_of, seal_of
from engine.identity.photo import SourcePhoto, photo_digest
from engine.identity.seal import is_sealed
from engine.keystore import KeyStore
from engine.swap.base import FaceSwap
from tests.keyring_in_a_file import BACKEND, FILE
from tests.vaults import Locked, Memory

MARK = b"a face, for all to read"


@dataclass(frozen=True)
class Atlas:
    texture: np.ndarray


class Copier:
    """A swapper whose identity is a known text, easily found in a file."""

    name = "copier"
    identity_type = Atlas

    def __init__(self) -> None:
        self.prepared = 0

    def prepare(self, photos: Sequence[SourcePhoto]) -> Atlas:
        self.prepared += 1
        return Atlas(np.frombuffer(MARK, np.uint8))

    def follow(self, identity: Atlas) -> FaceSwap:
        raise NotImplementedError


class Ones:
    """An embedder."""

    embedded = 0

    def embed(self, image: np.ndarray, points: np.ndarray) -> np.ndarray:
        self.embedded += 1
        return np.ones(512, np.float32)


@pytest.fixture(scope="module")
def photo() -> SourcePhoto:
    return replace(demo_photo(), digest=photo_digest("01" * 32, 1))


@pytest.fixture
def vault() -> Memory:
    return Memory()


def use(folder: Path, vault: object | None, photo: SourcePhoto) -> int:
    """Prepare the photo as a new process would; how often the swapper and the embedder had to work."""
    home = folder / "kawari"
    keys = KeyStore(home, vault, patience_s=5)  # type: ignore[arg-type]
    library = IdentityLibrary(home / "identities", keys=keys)
    library.consents.give(photo.digest, Basis.SELF)
    swapper, embedder = Copier(), Ones()
    assert library.prepare(swapper, [photo]).texture.tobytes() == MARK
    embeddings = embeddings_of(home / "identities")
    cache = EmbeddingCache(embeddings, "ab" * 32, seal_of(home / "identities", keys))
    assert cache.get(photo, embedder).tolist() == [1.0] * 512  # type: ignore[arg-type]
    assert swapper.prepared == embedder.embedded
    return swapper.prepared


def caches(folder: Path) -> list[Path]:
    identities = folder / "kawari" / "identities"
    return sorted([*(identities / "prepared").glob("*"), *embeddings_of(identities).glob("*")])


def test_with_a_key_store_nothing_of_a_face_can_be_read(
    tmp_path: Path, photo: SourcePhoto, vault: Memory
) -> None:
    assert use(tmp_path, vault, photo) == 1
    assert use(tmp_path, vault, photo) == 0
    files = caches(tmp_path)
    assert len(files) == 2
    for path in files:
        data = path.read_bytes()
        assert is_sealed(data)
        assert MARK not in data
        with pytest.raises(ValueError):
            np.load(io.BytesIO(data), allow_pickle=False)
    assert len(vault.entries) == 1


def test_without_one_the_files_are_plain(tmp_path: Path, photo: SourcePhoto) -> None:
    assert use(tmp_path, None, photo) == 1
    assert use(tmp_path, None, photo) == 0
    assert not any(is_sealed(path.read_bytes()) for path in caches(tmp_path))


def test_what_was_plain_goes_when_a_key_store_comes(
    tmp_path: Path, photo: SourcePhoto, vault: Memory
) -> None:
    use(tmp_path, None, photo)
    other = replace(photo, digest=photo_digest("02" * 32, 1))
    assert use(tmp_path, vault, other) == 1
    assert len(caches(tmp_path)) == 2  # also the first photo's are gone
    assert all(is_sealed(path.read_bytes()) for path in caches(tmp_path))


@pytest.mark.parametrize("where", [0, 5, 30, -1])
def test_a_changed_file_is_made_again(tmp_path: Path, photo: SourcePhoto, vault: Memory, where: int) -> None:
    use(tmp_path, vault, photo)
    for path in caches(tmp_path):
        data = bytearray(path.read_bytes())
        data[where] ^= 1
        path.write_bytes(data)
    assert use(tmp_path, vault, photo) == 1
    assert use(tmp_path, vault, photo) == 0


@pytest.mark.parametrize("length", [0, 3, 4, 10, 20, 31])
def test_a_cut_file_is_made_again(tmp_path: Path, photo: SourcePhoto, vault: Memory, length: int) -> None:
    use(tmp_path, vault, photo)
    for path in caches(tmp_path):
        path.write_bytes(path.read_bytes()[:length])
    assert use(tmp_path, vault, photo) == 1


def test_one_sealed_file_can_not_stand_for_another(tmp_path: Path, photo: SourcePhoto, vault: Memory) -> None:
    use(tmp_path, vault, photo)
    before = caches(tmp_path)
    use(tmp_path, vault, replace(photo, digest=photo_digest("02" * 32, 1)))
    for old, new in zip(before, sorted(set(caches(tmp_path)) - set(before)), strict=True):
        old.write_bytes(new.read_bytes())
    assert use(tmp_path, vault, photo) == 1


def test_another_key_makes_it_again(tmp_path: Path, photo: SourcePhoto, vault: Memory) -> None:
    use(tmp_path, vault, photo)
    KeyStore(tmp_path / "kawari", vault).set("identities", bytes(32))
    assert use(tmp_path, vault, photo) == 1


def test_a_lost_key_is_replaced_and_all_is_made_again(
    tmp_path: Path, photo: SourcePhoto, vault: Memory
) -> None:
    use(tmp_path, vault, photo)
    vault.entries.clear()
    assert use(tmp_path, vault, photo) == 1
    assert use(tmp_path, vault, photo) == 0
    assert len(caches(tmp_path)) == 2


def test_with_a_locked_store_nothing_is_written_in_clear(
    tmp_path: Path, photo: SourcePhoto, vault: Memory
) -> None:
    assert use(tmp_path, Locked(), photo) == 1
    assert caches(tmp_path) == []
    use(tmp_path, vault, photo)
    assert use(tmp_path, Locked(), photo) == 1
    assert all(is_sealed(path.read_bytes()) for path in caches(tmp_path))


def test_revoking_removes_sealed_files_too(tmp_path: Path, photo: SourcePhoto, vault: Memory) -> None:
    use(tmp_path, vault, photo)
    identities = tmp_path / "kawari" / "identities"
    IdentityLibrary(identities, keys=KeyStore(tmp_path / "kawari", vault)).revoke(photo.digest)
    assert [path for path in identities.rglob("*") if path.is_file()] == []


def test_the_built_in_face_needs_no_key(tmp_path: Path, vault: Memory) -> None:
    assert use(tmp_path, vault, demo_photo()) == 1
    assert use(tmp_path, None, demo_photo()) == 0
    assert not vault.entries


def test_the_program_encrypts_and_forgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import keyring

    from app.cli import run

    home = tmp_path / "kawari"
    monkeypatch.setenv("KAWARI_HOME", str(home))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", BACKEND)
    monkeypatch.setenv(FILE, str(tmp_path / "store"))
    monkeypatch.setattr(keyring.core, "_keyring_backend", None)
    portrait = str(portrait_path())
    arguments = ["run", "--source", portrait, "--input", portrait, "--output", str(tmp_path / "o.png")]
    assert run([*arguments, "--consent", "public-domain"]) == 0
    (path,) = caches(tmp_path)
    assert is_sealed(path.read_bytes())
    assert len(json.loads((tmp_path / "store").read_text())) == 1
    assert run([*arguments, "--overwrite"]) == 0
    assert run(["forget", "--everything"]) == 0
    assert not home.exists()
    assert json.loads((tmp_path / "store").read_text()) == {}
    assert os.environ["KAWARI_HOME"] not in (tmp_path / "store").read_text()
