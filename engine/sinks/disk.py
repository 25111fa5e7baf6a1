"""A file that a muxer writes, and what is left of it when the disk fills up."""

from __future__ import annotations

import os
from pathlib import Path


class Disk:
    """The file object PyAV writes to.

    After the first error nothing is written any more: FFmpeg would go on, and finishing a file on a full
    disk turns its header into one that promises an index which is not there. (PyAV writes no trailer once
    `closed` is true.)

    Attributes:
        failed: why writing failed; None while it has not.
        size: bytes in the file.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)
        self.failed: OSError | None = None
        self.size = 0

    def write(self, data: bytes) -> int:
        """Write all of it, or raise why it can't be."""
        if self.failed is not None:
            raise self.failed
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self.failed = error
            raise
        finally:
            self.size = max(self.size, self._file.tell())
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As of any file."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """As of any file."""
        return self._file.tell()

    @property
    def closed(self) -> bool:
        """As of any file."""
        return self._file.closed

    def close(self) -> None:
        """As of any file."""
        self._file.close()


def drop_torn_fragment(path: Path) -> None:
    """Cut a fragmented MP4 off behind its last whole fragment, so that no player stumbles."""
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        place = whole = 0
        while place + 16 <= end:
            file.seek(place)
            head = file.read(16)
            length, kind = int.from_bytes(head[:4], "big"), head[4:8]
            if length == 1:
                length = int.from_bytes(head[8:], "big")
            if length < 8 or place + length > end:
                break
            place += length
            if kind != b"moof":  # one without its data is torn
                whole = place
        file.truncate(whole)
