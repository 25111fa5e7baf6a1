"""The watermark's pattern: a keyed 256-pixel tile that carries 56 bits.

Eleven noise tiles are drawn from the key: one for synchronisation, ten that carry one 8-bit symbol
each by their cyclic shift on a 16×16 grid. All are flat in phase, limited to wavelengths of 5.5 to 18
pixels at a height of 720 and weighted by 1/√frequency: coarse enough to survive video codecs,
fine enough not to be seen. Figures: DESIGN section 8, measured on real clips through H.264, VP8, VP9.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

TILE = 256
"""Side of the tile, pixels at a picture height of `REFERENCE_HEIGHT`."""
REFERENCE_HEIGHT = 720
SYMBOLS = 10
"""8-bit symbols: 7 bytes of payload and 3 of CRC-24."""
SHIFT = 16
"""Grid of the shifts that code a symbol, pixels of the tile."""
PAYLOAD_BYTES = 7

_LONGEST, _SHORTEST = 18.0, 5.5
_SYNC_SHARE = 0.25

Spectrum = NDArray[np.complex128]


def radial_frequency(side: int) -> NDArray[np.float64]:
    """Radius of each FFT bin of a side×side picture, cycles per pixel."""
    f = np.fft.fftfreq(side)
    radius: NDArray[np.float64] = np.hypot(f[:, None], f[None, :])
    return radius


def band() -> NDArray[np.bool_]:
    """The FFT bins of a tile that the pattern uses."""
    r = radial_frequency(TILE)
    return (r > 1 / _LONGEST) & (r < 1 / _SHORTEST)


@lru_cache(maxsize=4)
def carriers(key: bytes) -> tuple[Spectrum, ...]:
    """Unit-magnitude spectra of the synchronisation tile and the `SYMBOLS` carriers for a key."""
    spectra = []
    inside = band()
    for index in range(SYMBOLS + 1):
        seed = np.frombuffer(hashlib.sha256(key + bytes([index])).digest(), np.uint32)
        phase = np.fft.fft2(np.random.default_rng(seed).normal(size=(TILE, TILE)))
        spectra.append(phase / np.abs(phase) * inside)
    return tuple(spectra)


def crc24(data: bytes) -> int:
    """CRC-24 as in OpenPGP (RFC 4880, section 6.1)."""
    crc = 0xB704CE
    for byte in data:
        crc ^= byte << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1864CFB
    return crc & 0xFFFFFF


def to_symbols(payload: bytes) -> tuple[int, ...]:
    """Seven payload bytes as ten symbols."""
    if len(payload) != PAYLOAD_BYTES:
        raise ValueError(f"a payload has {PAYLOAD_BYTES} bytes, not {len(payload)}")
    return tuple(payload + crc24(payload).to_bytes(3, "big"))


def from_symbols(symbols: tuple[int, ...]) -> bytes | None:
    """The payload of ten symbols, or None if its CRC does not fit."""
    data = bytes(symbols)
    payload = data[:PAYLOAD_BYTES]
    return payload if crc24(payload).to_bytes(3, "big") == data[PAYLOAD_BYTES:] else None


def symbol_shift(symbol: int) -> tuple[int, int]:
    """Rows and columns by which a carrier is shifted for a symbol, pixels of the tile."""
    return (symbol >> 4) * SHIFT, (symbol & 15) * SHIFT


def tile(key: bytes, payload: bytes) -> NDArray[np.float32]:
    """The tile for a key and a payload: float32, `TILE`×`TILE`, mean 0, standard deviation 1, cyclic."""
    inside = band()
    weight = np.where(inside, 1 / np.sqrt(np.maximum(radial_frequency(TILE), 1e-3)), 0.0)
    spectra = carriers(key)
    sync_gain = np.sqrt(_SYNC_SHARE * SYMBOLS / (1 - _SYNC_SHARE))
    total = sync_gain * np.real(np.fft.ifft2(spectra[0] * weight))
    for spectrum, symbol in zip(spectra[1:], to_symbols(payload), strict=True):
        total = total + np.roll(np.real(np.fft.ifft2(spectrum * weight)), symbol_shift(symbol), (0, 1))
    # Peaks would be seen first: clip them, then take out what clipping put outside the band.
    total = np.clip(total / total.std(), -2.5, 2.5)
    total = np.real(np.fft.ifft2(np.fft.fft2(total) * inside))
    pattern: NDArray[np.float32] = (total / total.std()).astype(np.float32)
    return pattern
