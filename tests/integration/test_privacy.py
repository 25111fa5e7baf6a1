"""Nothing leaves the machine, and nothing stays on it that the user wants forgotten."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from app.cli import run
from engine.forget import KEPT, forget_everything
from engine.identity.demo import portrait_path
from engine.identity.library import IdentityLibrary

ROOT = Path(__file__).resolve().parents[2]

# Python's own sockets are refused with a message that the test looks for; a network namespace
# without interfaces stops native libraries, too.
DENY = """
import sys
def deny(event, arguments):
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        raise RuntimeError(f"NETWORK {event} {arguments}")
    if event in ("socket.connect", "socket.bind") and not isinstance(arguments[1], (str, bytes)):
        raise RuntimeError(f"NETWORK {event} {arguments}")
sys.addaudithook(deny)
from app.__main__ import main
sys.exit(main())
"""


def in_no_network() -> list[str]:
    """The command that starts a program where there is no network, where that can be done."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return []
    works = subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False).returncode == 0
    return [unshare, "-rn"] if works else []


def offline(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*in_no_network(), sys.executable, "-c", DENY, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "KAWARI_HOME": str(home)},
        timeout=240,
        check=False,
    )


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "kawari"
    monkeypatch.setenv("KAWARI_HOME", str(folder))
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("demo", "--seconds", "0.3", "--output", "{tmp}/demo.mp4"),
        ("run", "--source", "{portrait}", "--input", "{portrait}", "--output", "{tmp}/o.png",
         "--consent", "public-domain"),
        ("live", "--camera", "demo", "--seconds", "1", "--headless", "--stats", "{tmp}/stats.json"),
        ("live", "--camera", "demo", "--size", "320x240", "--seconds", "1"),  # the window, offscreen
        ("doctor", "--json"),
        ("devices", "--json"),
        ("models", "list", "--json"),
        ("verify", "{portrait}"),
        ("consent", "give", "{portrait}", "--consent", "public-domain"),
        ("consent", "list", "--json"),
        ("forget", "--everything"),
    ],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_every_command_works_without_a_network(
    home: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    filled = [each.format(tmp=tmp_path, portrait=portrait_path()) for each in arguments]
    done = offline(home, *filled)
    assert "NETWORK" not in done.stderr + done.stdout
    assert done.returncode == 0, done.stderr


def test_the_denial_works() -> None:
    code = DENY.replace("from app.__main__ import main", "import socket").replace(
        "sys.exit(main())", "socket.create_connection(('127.0.0.1', 9))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "NETWORK" in done.stderr


def use_everything(tmp_path: Path) -> None:
    portrait = str(portrait_path())
    photo = tmp_path / "Anna at home"  # letters and spaces alone: nothing by which a path is known
    shutil.copy(portrait, photo)
    arguments = ["--source", str(photo), "--consent", "permission"]
    assert run(["run", *arguments, "--input", portrait, "--output", str(tmp_path / "o.png")]) == 0
    live = ["live", *arguments, "--camera", "demo", "--seconds", "0.5", "--headless"]
    assert run([*live, "--size", "320x240"]) == 0


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such rights")
def test_only_the_owner_can_read_what_is_kept(home: Path, tmp_path: Path) -> None:
    use_everything(tmp_path)
    paths = [home, *home.rglob("*")]
    assert any(path.suffix == ".npz" for path in paths)
    for path in paths:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_the_log_holds_no_photo_name_or_path(home: Path, tmp_path: Path) -> None:
    use_everything(tmp_path)
    text = (home / "logs" / "kawari.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line) for line in text.splitlines()]
    assert "anna" not in text.lower()
    assert str(tmp_path) not in text


def test_photos_are_not_copied(home: Path, tmp_path: Path) -> None:
    use_everything(tmp_path)
    assert not [path for path in home.rglob("*") if path.suffix.lower() in (".png", ".jpg", ".jpeg", ".webp")]


def test_forget_leaves_nothing(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    use_everything(tmp_path)
    assert run(["forget"]) == 2
    assert home.is_dir()
    assert run(["forget", "--everything"]) == 0
    assert not home.exists()
    assert run(["forget", "--everything"]) == 0


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such rights")
def test_a_model_that_comes_first_makes_no_open_folder(home: Path, tmp_path: Path) -> None:
    node = helper.make_node("ReduceMean", ["data"], ["fc1"], axes=[2, 3], keepdims=0)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node],
        "age",
        [value("data", TensorProto.FLOAT, [1, 3, 96, 96])],
        [value("fc1", TensorProto.FLOAT, [1, 3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (tmp_path / "age.onnx").write_bytes(model.SerializeToString())
    assert run(["models", "import", "genderage", str(tmp_path / "age.onnx"), "--accept-licence"]) == 0
    for path in (home, *home.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
def test_what_a_killed_process_leaves_is_forgotten_too(home: Path, tmp_path: Path) -> None:
    """Killed in the midst of each write in turn: the file is there under its unfinished name."""
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from engine.folders import write_private\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_private(Path(sys.argv[1]), b'a face')\n"
    )
    for name in ("settings.json", "identities/prepared/x.npz", "identities/embeddings/x.npy"):
        done = subprocess.run([sys.executable, "-c", code, str(home / name)], cwd=ROOT, check=False)
        assert done.returncode == -signal.SIGKILL
    assert len([path for path in home.rglob("*") if path.is_file()]) == 3
    IdentityLibrary().revoke("ab" * 32)
    assert [path.parent for path in home.rglob("*") if path.is_file()] == [home]
    assert forget_everything(home) == ()
    assert not home.exists()


def test_forget_touches_only_what_is_kawaris(tmp_path: Path) -> None:
    for name in (*KEPT, "thesis.docx"):
        (tmp_path / name).write_text("")
    assert forget_everything(tmp_path) == ("thesis.docx",)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.docx"]
