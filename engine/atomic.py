"""Files that are either complete or not there."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from engine.errors import DeviceError, UsageError


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to, moved into place when the block ends well, deleted otherwise.

    Raises:
        UsageError: the folder does not exist, or `path` is one.
        DeviceError: the folder may not be written to, or the disk is full (see `writing`).
    """
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {path.parent}", "Create it first, or choose another one")
    if path.is_dir():
        raise UsageError(f"{path} is a folder", "Add a file name to it")
    partial = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
    try:
        with writing(path):
            partial.touch(exist_ok=False)
            yield partial
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns the system's complaints about writing `path` into a `DeviceError` that helps."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise DeviceError(
                f"There is no room left to write {path.name}", "Free some space, or choose another disk"
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise DeviceError(f"{path} may not be written", "Choose a folder of your own") from error
        raise DeviceError(
            f"{path.name} can't be written: {os.strerror(error.errno or 0)}", "Check the disk"
        ) from error
