"""Puts the signed statement on the files that leave: exports, recordings, snapshots."""

from __future__ import annotations

from pathlib import Path

from engine.mark.manifest import can_sign, sign
from engine.mark.payload import Payload
from engine.mark.signer import SigningKey


class Credentials:
    """Signs finished files of one swapper.

    Args:
        key: who signs.
        payload: the watermark in their pictures.
        swapper: name of the model that made them.
    """

    def __init__(self, key: SigningKey, payload: Payload, swapper: str) -> None:
        self._key = key
        self._payload = payload
        self._swapper = swapper

    def attach(self, path: Path) -> None:
        """Replace the file by itself with a manifest; formats that carry none stay as they are.

        Raises:
            InputError, DeviceError: see `engine.mark.manifest.sign`; the file is as it was.
        """
        if not can_sign(path):
            return
        signed = path.with_name(f".{path.stem}.signed{path.suffix}")
        try:
            sign(path, signed, self._key, self._payload, self._swapper)
            signed.replace(path)
        finally:
            signed.unlink(missing_ok=True)
