"""What the window remembers survives crashes, damage and other versions."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from app.gui import settings
from app.gui.settings import VERSION, Settings, WindowConfig, load, migrate, save
from app.options import CameraConfig, OutputConfig
from engine.config import BadgeConfig, BadgeStyle, Corner, GuardConfig, GuardPolicy, SwapConfig, Who

CHANGED = Settings(
    swap=SwapConfig("mesh", 0.35, Who.ALL),
    guard=GuardConfig(GuardPolicy.PIXELATE),
    badge=BadgeConfig(True, Corner.BOTTOM_LEFT, BadgeStyle.WORDS),
    camera=CameraConfig("人 cam", "640x480", 60.0),
    output=OutputConfig(
        True, "Kawari", "640x360", 25.0, vmc=True, vmc_host="::1", osc_port=9, recordings="/tmp/ü"
    ),
    window=WindowConfig(1000, 700, maximised=True),
    faces=((("/photos/ü.jpg", 2), ("/photos/b.png", 1)), (), (("/photos/c.png", 1),)),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "settings.json"


def test_first_start(path: Path) -> None:
    assert load(path) == (Settings(), [])
    assert not path.exists()


def test_everything_comes_back(path: Path) -> None:
    save(path, CHANGED)
    assert load(path) == (CHANGED, [])
    assert [entry.name for entry in path.parent.iterdir()] == ["settings.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX rights")
def test_nobody_else_may_read_it(path: Path) -> None:
    save(path, CHANGED)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_crash_while_writing_keeps_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(path, CHANGED)

    def crash(_descriptor: int) -> None:
        raise OSError("power cut")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(OSError, match="power cut"):
        save(path, Settings())
    assert load(path) == (CHANGED, [])
    assert len(list(path.parent.iterdir())) == 1


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "[1, 2]", '{"version": 0}', '{"version": "1"}', "\x00\x01", "[" * 5000],
)
def test_a_damaged_file_is_put_aside(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    loaded, notes = load(path)
    assert loaded == Settings()
    assert len(notes) == 1
    assert path.with_name("settings.json.bad").read_text() == text
    assert load(path) == (Settings(), [])


def test_not_text_at_all(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(bytes(range(256)))
    assert load(path)[0] == Settings()


def test_values_that_are_not_allowed_fall_back_one_by_one(path: Path) -> None:
    save(path, CHANGED)
    stored = json.loads(path.read_text())
    stored["swap"]["strength"] = 7
    stored["guard"]["policy"] = "nonsense"
    stored["camera"] = "none"
    stored["faces"] = [[["a.jpg", -1], "b.jpg", ["c.jpg", 1]], "d.jpg"]
    path.write_text(json.dumps(stored))
    loaded, notes = load(path)
    assert loaded.swap == SwapConfig("mesh", SwapConfig().strength, Who.ALL)
    assert loaded.guard == GuardConfig()
    assert loaded.camera == CameraConfig()
    assert loaded.faces == ((("c.jpg", 1),), ())
    assert len(notes) == 2


def test_pass_through_is_never_remembered(path: Path) -> None:
    save(path, Settings(guard=GuardConfig(GuardPolicy.PASS)))
    assert load(path)[0].guard.policy is GuardPolicy.HOLD


def test_a_newer_version_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    text = json.dumps({"version": VERSION + 1, "swap": {"strength": 0.1}})
    path.write_text(text)
    loaded, notes = load(path)
    assert loaded == Settings()
    assert "newer" in notes[0]
    assert path.read_text() == text


def test_migrations_run_one_by_one() -> None:
    steps = {
        1: lambda stored: {"version": 1, "names": stored["name"].split()},
        2: lambda stored: {**stored, "count": len(stored["names"])},
    }
    assert migrate({"version": 1, "name": "a b"}, 3, steps) == {"version": 3, "names": ["a", "b"], "count": 2}
    assert migrate({"version": 2, "names": []}, 3, steps)["count"] == 0
    assert migrate({"version": 3}, 3, steps) == {"version": 3}


def test_there_is_a_migration_from_every_older_version() -> None:
    assert set(settings.MIGRATIONS) == set(range(1, VERSION))


def test_badge_and_photos_of_the_first_version_are_taken_over(path: Path) -> None:
    path.parent.mkdir()
    stored = {"version": 1, "output": {"badge": False, "browser": True}, "sources": [["a.jpg", 2]]}
    path.write_text(json.dumps(stored))
    loaded, notes = load(path)
    assert notes == []
    assert loaded.badge == BadgeConfig(shown=False)
    assert loaded.faces == ((("a.jpg", 2),),)
    assert loaded.output.browser


def test_where_it_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path))
    assert settings.default_path() == tmp_path / "settings.json"
