"""Secrets: in the system's key store, or in files of the owner's."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from engine.capabilities import system
from engine.capabilities.probe import State
from engine.errors import DeviceError, UsageError
from engine.forget import forget_everything
from engine.keystore import KeyStore
from tests.conftest import ROOT
from tests.keyring_in_a_file import BACKEND, FILE
from tests.vaults import Locked, Memory

SECRET = bytes(range(256))


class Forgetful(Memory):
    def set_password(self, service: str, username: str, password: str) -> None:
        pass


@pytest.fixture
def vault() -> Memory:
    return Memory()


def test_a_secret_comes_back_and_only_the_store_holds_it(tmp_path: Path, vault: Memory) -> None:
    keys = KeyStore(tmp_path, vault)
    assert keys.get("watermark") is None
    assert keys.set("watermark", SECRET)
    assert KeyStore(tmp_path, vault).get("watermark") == SECRET
    (text,) = vault.entries.values()
    assert text not in (tmp_path / "keys" / "watermark.json").read_text()


def test_setting_again_leaves_one_entry(tmp_path: Path, vault: Memory) -> None:
    keys = KeyStore(tmp_path, vault)
    keys.set("watermark", b"old")
    keys.set("watermark", b"new")
    assert keys.get("watermark") == b"new"
    assert len(vault.entries) == 1


def test_two_folders_do_not_share_their_secrets(tmp_path: Path, vault: Memory) -> None:
    here, there = KeyStore(tmp_path / "a", vault), KeyStore(tmp_path / "b", vault)
    here.set("watermark", b"a")
    there.set("watermark", b"b")
    here.delete("watermark")
    assert here.get("watermark") is None
    assert there.get("watermark") == b"b"


def test_without_a_store_a_file_of_the_owners_holds_it(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path)
    assert not keys.available().system
    assert not keys.set("watermark", SECRET)
    assert KeyStore(tmp_path).get("watermark") == SECRET
    if os.name == "posix":
        for path in (tmp_path / "keys", tmp_path / "keys" / "watermark.json"):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    keys.delete("watermark")
    assert not list((tmp_path / "keys").iterdir())


def test_a_lost_entry_is_an_error_and_can_be_set_again(tmp_path: Path, vault: Memory) -> None:
    keys = KeyStore(tmp_path, vault)
    keys.set("watermark", b"old")
    vault.entries.clear()
    with pytest.raises(DeviceError, match="no longer the key"):
        keys.get("watermark")
    keys.set("watermark", b"new")
    assert keys.get("watermark") == b"new"


def test_a_locked_store_is_an_error_that_names_nobody(tmp_path: Path, vault: Memory) -> None:
    KeyStore(tmp_path, vault).set("watermark", SECRET)
    locked = KeyStore(tmp_path, Locked())
    for attempt in (lambda: locked.get("watermark"), lambda: locked.delete("watermark")):
        with pytest.raises(DeviceError, match="can't be opened") as caught:
            attempt()
        assert "anna" not in str(caught.value)
    with pytest.raises(DeviceError):
        locked.set("other", SECRET)
    assert locked.names() == ("watermark",)  # nothing half kept


def test_a_store_that_forgets_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="does not keep"):
        KeyStore(tmp_path, Forgetful()).set("watermark", SECRET)


def test_a_store_that_hangs_is_given_up(tmp_path: Path, vault: Memory) -> None:
    answer = threading.Event()

    class Hangs(Memory):
        def get_password(self, service: str, username: str) -> str | None:
            answer.wait(60)
            return None

    KeyStore(tmp_path, vault).set("watermark", SECRET)
    try:
        with pytest.raises(DeviceError, match="no answer within"):
            KeyStore(tmp_path, Hangs(), patience_s=0.1).get("watermark")
    finally:
        answer.set()


@pytest.mark.parametrize("text", ["", "[]", '{"entry": 3}', '{"secret": "*"}', "\xff"])
def test_a_damaged_note_is_an_error(tmp_path: Path, vault: Memory, text: str) -> None:
    keys = KeyStore(tmp_path, vault)
    keys.set("watermark", SECRET)
    (tmp_path / "keys" / "watermark.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(DeviceError):
        keys.get("watermark")


@pytest.mark.parametrize("name", ["", "../x", "A", "a" * 50])
def test_names_are_plain_words(tmp_path: Path, vault: Memory, name: str) -> None:
    with pytest.raises(UsageError):
        KeyStore(tmp_path, vault).get(name)


def test_forgetting_everything_takes_the_entries_along(tmp_path: Path, vault: Memory) -> None:
    home = tmp_path / "kawari"
    keys = KeyStore(home, vault)
    keys.set("watermark", SECRET)
    keys.set("identities", SECRET)
    assert forget_everything(home, keys) == ()
    assert not home.exists()
    assert not vault.entries


def test_forgetting_with_a_locked_store_removes_the_rest_and_says_so(tmp_path: Path, vault: Memory) -> None:
    KeyStore(tmp_path, vault).set("watermark", SECRET)
    (tmp_path / "settings.json").write_text("{}")
    with pytest.raises(DeviceError, match="can't be opened"):
        forget_everything(tmp_path, KeyStore(tmp_path, Locked()))
    assert [path.name for path in tmp_path.iterdir()] == ["keys"]
    assert forget_everything(tmp_path, KeyStore(tmp_path, vault)) == ()
    assert not vault.entries


def test_the_doctor_says_when_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path))
    (probe,) = system.key_store()
    assert probe.state is State.WARNING
    assert "only you can read" in probe.detail
    assert probe.remedy
    assert probe.optional


def test_a_first_start_loads_no_key_store(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom app.cli import run\n"
        "from engine.identity.demo import demo_photo\nfrom engine.identity.library import IdentityLibrary\n"
        "from engine.swap import make_swapper\nfrom app.build import make_pipeline\n"
        "from engine.config import GuardConfig, SwapConfig\n"
        "identity = IdentityLibrary().prepare(make_swapper(), [demo_photo()])\n"
        "make_pipeline(SwapConfig(), GuardConfig(), make_swapper(), identity)\n"
        "assert 'keyring' not in sys.modules"
    )
    environment = {**os.environ, "KAWARI_HOME": str(tmp_path / "kawari")}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=True)


def test_through_the_keyring_package_and_loaded_only_when_needed(tmp_path: Path) -> None:
    def python(code: str) -> str:
        environment = {**os.environ, "PYTHON_KEYRING_BACKEND": BACKEND, FILE: str(tmp_path / "store")}
        return subprocess.run(
            [sys.executable, "-c", "import sys; from pathlib import Path\n"
             f"from engine.keystore import KeyStore\nkeys = KeyStore(Path({str(tmp_path)!r}))\n{code}"],
            env=environment, cwd=ROOT, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip

    assert python("print(keys.get('watermark'), 'keyring' in sys.modules)") == "None False\n"
    assert python("print(keys.set('watermark', b'secret'))") == "True\n"
    assert len(json.loads((tmp_path / "store").read_text())) == 1
    assert python("print(keys.get('watermark'))") == "b'secret'\n"
