"""HDR pictures (PQ, HLG in BT.2020) as SDR ones (BT.709), so that faces look right in 8 bits.

PQ: SMPTE ST 2084. HLG: ITU-R BT.2100, shown at 1000 cd/m². Tone mapping: the EETF of ITU-R BT.2390
per channel, from 1000 cd/m² to SDR whose white is BT.2408's 203 cd/m².
"""

from __future__ import annotations

import enum
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.types import Image

_PEAK, _WHITE = 1000.0, 203.0  # cd/m²
# BT.2087: linear BT.2020 to linear BT.709
_TO_709 = np.array(
    [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]], np.float32
)
_STEPS = 4096


class Transfer(enum.Enum):
    """HDR transfer functions by their H.273 code points."""

    PQ = 16
    HLG = 18


def tone_map(rgb: NDArray[np.uint16], transfer: Transfer) -> Image:
    """uint16, H×W×3, RGB, full range, BT.2020 → uint8, H×W×3, BGR, BT.709 for a gamma 2.4 screen."""
    to_linear, to_code = _tables(transfer)
    linear = cv2.transform(to_linear[rgb >> 4], _TO_709[::-1])
    np.clip(linear, 0, 1, out=linear)
    return to_code[(linear * (_STEPS - 1) + 0.5).astype(np.uint16)]


@lru_cache(maxsize=2)
def _tables(transfer: Transfer) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    code = np.linspace(0, 1, _STEPS)
    nits = _pq_to_nits(code) if transfer is Transfer.PQ else _hlg_to_nits(code)
    linear = _pq_to_nits(_eetf(_nits_to_pq(nits))) / _WHITE
    # square-root spacing would waste less, but 12 linear bits keep dark steps below one code value
    gamma = np.rint(255 * code ** (1 / 2.4))
    return linear.astype(np.float32), gamma.astype(np.uint8)


def _pq_to_nits(code: NDArray[np.float64]) -> NDArray[np.float64]:
    p = code ** (1 / 78.84375)
    return 10000 * (np.maximum(p - 0.8359375, 0) / (18.8515625 - 18.6875 * p)) ** (1 / 0.1593017578125)


def _nits_to_pq(nits: NDArray[np.float64]) -> NDArray[np.float64]:
    y = (nits / 10000) ** 0.1593017578125
    return ((0.8359375 + 18.8515625 * y) / (1 + 18.6875 * y)) ** 78.84375


def _hlg_to_nits(code: NDArray[np.float64]) -> NDArray[np.float64]:
    a, b, c = 0.17883277, 0.28466892, 0.55991073
    scene = np.where(code <= 0.5, code**2 / 3, (np.exp((code - c) / a) + b) / 12)
    return _PEAK * scene**1.2


def _eetf(pq: NDArray[np.float64]) -> NDArray[np.float64]:
    peak = float(_nits_to_pq(np.array(_PEAK)))
    x = np.minimum(pq / peak, 1)
    top = float(_nits_to_pq(np.array(_WHITE))) / peak
    knee = 1.5 * top - 0.5
    t = np.clip((x - knee) / (1 - knee), 0, 1)
    hermite = (
        (2 * t**3 - 3 * t**2 + 1) * knee + (t**3 - 2 * t**2 + t) * (1 - knee) + (-2 * t**3 + 3 * t**2) * top
    )
    return np.where(x < knee, x, hermite) * peak
