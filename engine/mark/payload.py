"""What the watermark says: who made the picture, with what, when.

56 bits: 24 of a random install id (resettable, tells nothing about the person), 8 of the swapper,
8 of Kawari's version (major·16 + minor, saturated), 16 days since 2020-01-01.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import date, timedelta

_EPOCH = date(2020, 1, 1)


@dataclass(frozen=True, slots=True)
class Payload:
    """The decoded payload.

    Attributes:
        install: 24-bit random id of the installation.
        model: 8-bit hash of the swapper's name, see `model_id`.
        version: (major, minor) of Kawari, each 0..15.
        day: the day on which the stream began.
    """

    install: int
    model: int
    version: tuple[int, int]
    day: date

    def to_bytes(self) -> bytes:
        """Seven bytes."""
        days = min(max((self.day - _EPOCH).days, 0), 0xFFFF)
        major, minor = (min(part, 15) for part in self.version)
        return (
            (self.install & 0xFFFFFF).to_bytes(3, "big")
            + bytes([self.model & 0xFF, major << 4 | minor])
            + days.to_bytes(2, "big")
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Payload:
        """Inverse of `to_bytes`."""
        return cls(
            install=int.from_bytes(data[:3], "big"),
            model=data[3],
            version=(data[4] >> 4, data[4] & 15),
            day=_EPOCH + timedelta(days=int.from_bytes(data[5:7], "big")),
        )


def model_id(swapper: str) -> int:
    """Eight bits that tell swappers apart: CRC-32 of the name, lowest byte."""
    return zlib.crc32(swapper.encode()) & 0xFF
