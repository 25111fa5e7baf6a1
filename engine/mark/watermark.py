"""The invisible watermark: always the last thing done to a picture that leaves."""

from __future__ import annotations

from collections import OrderedDict

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.mark.pattern import REFERENCE_HEIGHT, tile
from engine.types import Image

PUBLIC_KEY = b"kawari public watermark key 1"
"""The default key: any Kawari can detect the output of any other."""

# The gain is set where the local loss of SSIM is even (kappa), limited, and capped so that
# PSNR ≥ 20·log10(255 / 1.85) = 42.8 dB.
_KAPPA = 0.0115
_GAIN_MAX = 2.6
_RMS_CAP = 1.85
_SSIM_C2 = 58.5
"""(0.03 · 255)², SSIM's constant (Wang et al. 2004)."""
_PERIOD = 4
"""Frames over which a change of gain is spread, strip by strip, so that no frame pays for all."""
_STRIP = 48
_SMALLEST = 180
"""Height, pixels, below which the pattern shrinks no further: it would be finer than the pixels."""
_SCALE = 90.0
"""Pattern units per standard deviation in its 8-bit form."""
_GAIN_SCALE = 64.0


class _Canvas:
    """Everything that depends on the picture's size, and the slowly moving gain."""

    def __init__(self, pattern: NDArray[np.float32], height: int, width: int) -> None:
        scale = max(height, _SMALLEST) / REFERENCE_HEIGHT
        matrix = np.array([[scale, 0, 0], [0, scale, 0]], np.float64)
        spread = cv2.warpAffine(
            pattern, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_WRAP
        )
        coded = np.clip(np.rint(spread * _SCALE), -255, 255)
        self.up = np.maximum(coded, 0).astype(np.uint8)
        self.down = np.maximum(-coded, 0).astype(np.uint8)
        self.add = np.zeros((height, width, 3), np.uint8)
        self.subtract = np.zeros((height, width, 3), np.uint8)
        self.size = (width, height)
        self.step = max(4, round(4 * scale))
        self.strips = [slice(y, min(y + _STRIP, height)) for y in range(0, height, _STRIP)]
        self.gain: NDArray[np.float32] | None = None
        self.gain8 = np.zeros((height, width), np.uint8)
        self.count = 0

    def apply(self, image: Image) -> None:
        first = self.gain is None
        phase = self.count % _PERIOD
        if first or phase == 0:
            self._measure(image)
        for index, strip in enumerate(self.strips):
            if first or index % _PERIOD == phase:
                self._fill(self.up, self.add, strip)
                self._fill(self.down, self.subtract, strip)
        self.count += 1
        cv2.add(image, self.add, dst=image)
        cv2.subtract(image, self.subtract, dst=image)

    def _fill(self, part: NDArray[np.uint8], into: Image, strip: slice) -> None:
        scaled = cv2.multiply(part[strip], self.gain8[strip], scale=1 / (_SCALE * _GAIN_SCALE))
        cv2.cvtColor(scaled, cv2.COLOR_GRAY2BGR, dst=into[strip])

    def _measure(self, image: Image) -> None:
        """Gain where texture hides the pattern: from the local variance of the green channel."""
        top, left = (min(self.step // 2, side - 1) for side in image.shape[:2])
        green = np.ascontiguousarray(image[top :: self.step, left :: self.step, 1]).astype(np.float32)
        mean = cv2.blur(green, (3, 3))
        variance = cv2.blur(green * green, (3, 3)) - mean * mean
        # Erosion keeps the gain down beside edges, where it would show on the flat side.
        variance = cv2.erode(np.maximum(variance - 3.0, 0), np.ones((3, 3), np.uint8))
        gain = np.sqrt(_KAPPA * (2 * variance + _SSIM_C2))
        gain *= 1 + 0.25 * np.clip((50 - mean) / 50, 0, 1)
        gain = cv2.blur(np.minimum(gain, _GAIN_MAX), (3, 3))
        rms = float(np.sqrt(np.mean(gain * gain)))
        if rms > _RMS_CAP:
            gain *= _RMS_CAP / rms
        if self.gain is not None:
            # Down at once, up slowly: what was texture and is flat now must not show the pattern.
            gain = np.minimum(gain, 0.6 * self.gain + 0.4 * gain)
        self.gain = gain
        coarse = np.minimum(self.gain * _GAIN_SCALE, 255).astype(np.uint8)
        cv2.resize(coarse, self.size, dst=self.gain8, interpolation=cv2.INTER_LINEAR)


class Watermark:
    """Marks pictures as made by Kawari; there is no way to switch it off.

    The pattern is constant in time and added equally to blue, green and red. One object per stream:
    it remembers the gain of the stream's last pictures. Not thread-safe.

    Args:
        payload: seven bytes, see `engine.mark.payload`.
        key: the pattern is drawn from it; the default is known to every Kawari.
    """

    def __init__(self, payload: bytes, key: bytes = PUBLIC_KEY) -> None:
        self._pattern = tile(key, payload)
        self._canvases: OrderedDict[tuple[int, int], _Canvas] = OrderedDict()

    def apply(self, image: Image) -> None:
        """Mark a picture in place.

        Args:
            image: uint8, H×W×3, BGR, writable.
        """
        height, width = image.shape[:2]
        canvas = self._canvases.get((height, width))
        if canvas is None:
            canvas = self._canvases[height, width] = _Canvas(self._pattern, height, width)
            if len(self._canvases) > 2:
                self._canvases.popitem(last=False)
        canvas.apply(image)
