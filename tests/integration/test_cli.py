"""The command line as a person meets it: answers, exit codes, one-line errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.version import __version__
from tests.conftest import ROOT
from tests.integration.conftest import Kawari


def test_version(kawari: Kawari) -> None:
    done = kawari("--version")
    assert (done.returncode, done.stdout) == (0, f"kawari {__version__}\n")


def test_help_lists_every_command(kawari: Kawari) -> None:
    done = kawari("--help")
    assert done.returncode == 0
    for command in ("demo", "run", "live", "devices", "doctor", "models", "verify", "bench"):
        assert command in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["devices", "--nonsense"],
        ["run", "--source", "a.jpg"],
        ["run", "--source", "a.jpg", "--input", "b", "--output", "c", "--strength", "2"],
        ["run", "--source", "a.jpg", "--input", "b", "--output", "c", "--face", "0"],
        ["run", "--source", "a.jpg", "--input", "b", "--output", "c", "--consent", "perhaps"],
        ["live", "--seconds", "-1"],
        ["live", "--guard", "nothing"],
        ["demo", "--seconds", "nan"],
    ],
)
def test_usage_errors(kawari: Kawari, arguments: list[str]) -> None:
    done = kawari(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("usage:")


def test_window_without_a_screen(kawari: Kawari) -> None:
    done = kawari()
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert "no screen" in done.stderr


def test_window_with_a_dead_screen(kawari: Kawari, environment: dict[str, str]) -> None:
    environment["DISPLAY"] = ":4242"
    assert kawari().returncode == 4


def test_devices_as_json(kawari: Kawari) -> None:
    done = kawari("devices", "--json")
    assert done.returncode == 0
    assert set(json.loads(done.stdout)) == {"cameras", "virtual_cameras", "microphones", "sound_outputs"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_results_that_do_not_fit_on_the_disk(environment: dict[str, str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "app", "devices"],
            stdout=full, stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT,
        )  # fmt: skip
    assert done.returncode == 4
    assert "disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break differently there")
def test_reader_that_went_away(environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "devices"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait() == 141


def test_doctor(kawari: Kawari) -> None:
    done = kawari("doctor", "--json")
    assert done.returncode == 0, done.stdout
    report = json.loads(done.stdout)
    assert report["version"] == __version__
    assert report["ok"]
    for finding in report["findings"]:
        assert finding["state"] == "ok" or finding["detail"]


def test_a_terminal_that_can_not_show_a_character(kawari: Kawari, environment: dict[str, str]) -> None:
    environment["PYTHONIOENCODING"] = "ascii"
    assert kawari("doctor").returncode == 0
