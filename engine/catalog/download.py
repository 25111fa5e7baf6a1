"""Downloads a model: resumable, verified before it counts, moved into place in one step.

The only code in the engine that opens a network connection, and only when the user asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import requests
from urllib3.exceptions import HTTPError

from engine.catalog.entry import LARGEST
from engine.errors import DeviceError, ModelError

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all (0 = unknown)."""
_SAFE = ("https://", "http://127.0.0.1:", "http://localhost:")
_BLOCK = 1 << 20
_TIMEOUT = (10.0, 30.0)
"""Seconds to connect, and between two pieces of data."""


def fetch(url: str, part: Path, size: int, progress: Progress | None = None) -> None:
    """Bring `part` to the full length, continuing where an earlier try stopped.

    Args:
        url: https address (http only on loopback).
        part: the partial file; created if it is not there.
        size: expected bytes, 0 = unknown.
        progress: told about each block.

    Raises:
        ModelError: the server refuses, or the connection broke; `part` stays for the next try.
        DeviceError: the disk is full or can't be written.
    """
    if not url.startswith(_SAFE):
        raise ModelError(f"The address {url.split(':')[0]}://… is not https", "Use an https address")
    done = part.stat().st_size if part.exists() else 0
    if size and done > size:
        part.unlink()
        done = 0
    if size and done == size:
        return
    headers = {"Range": f"bytes={done}-", "Accept-Encoding": "identity"} if done else {}
    headers.setdefault("Accept-Encoding", "identity")
    host = url.split("/")[2]
    try:
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
            if response.status_code == requests.codes.requested_range_not_satisfiable:
                part.unlink()  # longer than the file there is: not a part of it
                raise ModelError(f"The download of {part.stem} from {host} had to start again", "Try again")
            if not response.ok:
                raise ModelError(
                    f"{host} answers {response.status_code} for {part.stem}",
                    "Download the file in a browser and use kawari models import",
                )
            if not response.url.startswith(_SAFE):
                raise ModelError(f"{host} leads to an address that is not https", "Use another address")
            continued = response.status_code == requests.codes.partial_content
            if not continued:
                done = 0
            total = size or done + int(response.headers.get("Content-Length", 0))
            part.touch(0o600)
            with part.open("ab" if continued else "wb") as stream:
                # What came before a broken connection is kept: the check against `total` is below.
                response.raw.enforce_content_length = False
                while block := response.raw.read(_BLOCK):
                    stream.write(block)
                    done += len(block)
                    if done > LARGEST:
                        break
                    if progress is not None:
                        progress(done, total)
            if done > LARGEST:
                part.unlink()
                raise ModelError(f"{host} sends more than any model has", "Use another address")
            if total and done < total:
                raise ModelError(
                    f"The connection to {host} broke after {done} of {total} bytes",
                    "Run the same command again: it goes on from there",
                )
    except (requests.RequestException, HTTPError) as error:
        raise ModelError(
            f"{host} can't be reached: {type(error).__name__}",
            "Check the connection and run the same command again: it goes on where it stopped",
        ) from None
    except OSError as error:
        raise DeviceError(
            f"The model can't be written: {error.strerror}", "Free some space and try again"
        ) from None
