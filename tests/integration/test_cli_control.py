"""`kawari live` with the control server, VMC and tracking only: the real command, from outside."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests

from tests.integration.conftest import Kawari
from tests.integration.test_cli_live import DEMO

HEADLESS = ["live", "--headless", *DEMO]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_switched_on_controlled_and_ended(environment: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    process = subprocess.Popen(
        [sys.executable, "-m", "app", *HEADLESS, "--server", "0"],
        env=environment, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        page = process.stderr.readline()
        line = process.stderr.readline()
        found = re.fullmatch(r"kawari: control (http://127\.0\.0\.1:\d+)/api/ token (\S+)\n", line)
        assert found, line
        address, token = found.groups()
        assert f"{address}/?token={token}" in page
        headers = {"Authorization": f"Bearer {token}"}

        def state() -> dict[str, object]:
            return dict(requests.get(f"{address}/api/state", headers=headers, timeout=30).json())

        deadline = time.monotonic() + 90
        while not state()["running"]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert requests.get(f"{address}/api/state", timeout=30).status_code == 401
        requests.post(f"{address}/api/panic", headers=headers, timeout=30)
        assert state()["panic"] is True
        requests.post(f"{address}/api/stop", headers=headers, timeout=30)
        time.sleep(1)
        assert process.poll() is None  # it waits to be started again
        assert requests.post(f"{address}/api/start", headers=headers, timeout=90).json()["running"] is True
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "Traceback" not in errors
    finally:
        process.kill()
        process.communicate()
    with pytest.raises(requests.ConnectionError):
        requests.get(address, timeout=5)


def test_tracking_only_sends_vmc_and_shows_nobody(kawari: Kawari) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(1)
        port = receiver.getsockname()[1]
        done = kawari("live", "--tracking-only", *DEMO, "--vmc", f"127.0.0.1:{port}", "--seconds", "4")
        assert done.returncode == 0, done.stderr
        packet = receiver.recv(65536)
    assert packet.startswith(b"#bundle\0")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["live", "--tracking-only", *DEMO, "--source", "a.jpg"], 2),
        ([*HEADLESS, "--vmc", "no.such.host.invalid:1"], 4),
        ([*HEADLESS, "--other", "no.jpg"], 3),
    ],
)
def test_what_can_not_be_done(kawari: Kawari, arguments: list[str], code: int) -> None:
    done = kawari(*arguments, "--seconds", "2")
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("kawari: ")
    assert done.stderr.count("\n") == 1


def test_a_taken_port(kawari: Kawari) -> None:
    pytest.importorskip("fastapi")
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = kawari(*HEADLESS, "--server", other.getsockname()[1], "--seconds", "2")
    assert done.returncode == 4
    assert "taken" in done.stderr


def test_without_the_extra_it_says_what_to_install(environment: dict[str, str]) -> None:
    code = "import sys; sys.modules['fastapi'] = None; from app.cli import run; sys.exit(run(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *HEADLESS, "--server", "--seconds", "2"],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "pip install 'kawari[server]'" in done.stderr
    assert "Traceback" not in done.stderr
