"""Schemathesis reads the OpenAPI document and sends what it allows, and what it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.conftest import TOKEN, Client

CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_schema_conformance", "negative_data_rejection",
)  # fmt: skip


def test_the_server_keeps_to_its_openapi_document(client: Client, tmp_path: Path) -> None:
    pytest.importorskip("schemathesis")
    program = Path(sys.executable).with_name("schemathesis")
    done = subprocess.run(
        [
            program, "run", f"{client.server.address}/openapi.json",
            "--header", f"Authorization: Bearer {TOKEN}",
            "--phases", "coverage,fuzzing", "--max-examples", "8", "--seed", "1",
            "--checks", ",".join(CHECKS),
            # an endless picture, and the one that opens a camera
            "--exclude-path", "/stream.mjpg", "--exclude-path", "/api/start",
        ],
        cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True, timeout=150,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:]
    assert "16 passed" in done.stdout.replace("✅", ""), done.stdout[-3000:]
