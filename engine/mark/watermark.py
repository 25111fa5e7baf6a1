"""The invisible watermark: always the last thing done to a picture that leaves."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import cast

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.mark.pattern import REFERENCE_HEIGHT, TILE, tile
from engine.types import Image

PUBLIC_KEY = b"kawari public watermark key 1"
"""Any Kawari can detect the output of any other by it."""
_PRIVATE = 0.3
"""Share of a private pattern in the energy; the public one keeps 84 % of its z."""

# The gain is set where the local loss of SSIM is even (kappa), limited, and capped so that
# PSNR ≥ 20·log10(255 / 1.85) = 42.8 dB.
_KAPPA = 0.0145
_GAIN_MAX = 2.6
_RMS_CAP = 1.85
_SSIM_C2 = 58.5
"""(0.03 · 255)², SSIM's constant (Wang et al. 2004)."""
_PERIOD = 4
"""Frames over which small changes of gain are spread, strip by strip, so that no frame pays for all."""
_STRIP = 48
_SMALLEST = REFERENCE_HEIGHT
"""Height, pixels, below which the pattern shrinks no further: codecs keep nothing that is finer."""
_NOISE = 3.0
"""Variance, levels², that is a sensor's noise and hides nothing."""
_CHANGE, _CHANGED = 10, 0.02
"""Levels by which a sample, and share of the samples that, must change for a fresh measurement."""
_TOO_STRONG = 1.25
"""Ratio of the gain in use to the one due from which a strip is made anew, if that share of it has it."""
_SCALE = 90.0
"""Pattern units per standard deviation in its 8-bit form."""
_GAIN_SCALE = 64.0


class _Canvas:
    """Everything that depends on the picture's size, and the gain that follows the picture."""

    def __init__(self, pattern: NDArray[np.float32], height: int, width: int) -> None:
        scale = max(height, _SMALLEST) / REFERENCE_HEIGHT
        coded = np.clip(np.rint(_spread(pattern, scale, height, width) * _SCALE), -255, 255)
        self.up = np.maximum(coded, 0).astype(np.uint8)
        self.down = np.maximum(-coded, 0).astype(np.uint8)
        self.add = np.zeros((height, width, 3), np.uint8)
        self.subtract = np.zeros((height, width, 3), np.uint8)
        self.size = (width, height)
        self.step = max(4, round(4 * scale))
        self.strips = [slice(y, min(y + _STRIP, height)) for y in range(0, height, _STRIP)]
        self.gain: NDArray[np.float32] | None = None
        self.limit: NDArray[np.float32] | None = None
        self.used: NDArray[np.float32] | None = None
        self.sample: NDArray[np.uint8] | None = None
        self.gain8 = np.zeros((height, width), np.uint8)
        self.count = 0

    def apply(self, image: Image) -> None:
        first = self.gain is None
        phase = self.count % _PERIOD
        top, left = (min(self.step // 2, side - 1) for side in image.shape[:2])
        sample = np.ascontiguousarray(image[top :: self.step, left :: self.step, 1])
        # Every second frame is soon enough for a pan: the gain is kept down beside texture anyway.
        fresh = phase == 0 or (phase % 2 == 0 and self._moved(sample))
        if fresh:
            self._measure(sample)
            self.sample = sample
        for index, strip in enumerate(self.strips):
            if first or index % _PERIOD == phase or (fresh and self._too_strong(strip)):
                self._fill(strip)
        self.count += 1
        cv2.add(image, self.add, dst=image)
        cv2.subtract(image, self.subtract, dst=image)

    def _moved(self, sample: NDArray[np.uint8]) -> bool:
        """Whether the gain measured last is out of date before its time."""
        if self.sample is None:
            return True
        changed = cv2.absdiff(sample, self.sample) > _CHANGE
        return bool(np.count_nonzero(changed) > _CHANGED * sample.size)

    def _rows(self, strip: slice) -> slice:
        """The rows of the coarse gain that a strip depends on."""
        last = -(-max(self.size[1] - self.step // 2, 1) // self.step)
        return slice(min(strip.start // self.step, last - 1), min(-(-strip.stop // self.step), last))

    def _too_strong(self, strip: slice) -> bool:
        """Whether a strip shows the pattern where texture hid it and now nothing does."""
        if self.limit is None or self.used is None:
            return True
        rows = self._rows(strip)
        stronger = self.used[rows] > self.limit[rows]
        return bool(np.count_nonzero(stronger) > _CHANGED * stronger.size)

    def _fill(self, strip: slice) -> None:
        for part, into in ((self.up, self.add), (self.down, self.subtract)):
            scaled = cv2.multiply(part[strip], self.gain8[strip], scale=1 / (_SCALE * _GAIN_SCALE))
            cv2.cvtColor(scaled, cv2.COLOR_GRAY2BGR, dst=into[strip])
        if self.used is not None and self.gain is not None:
            rows = self._rows(strip)
            self.used[rows] = self.gain[rows]

    def _measure(self, sample: NDArray[np.uint8]) -> None:
        """Gain where texture hides the pattern: from the local variance of the green channel."""
        mean = cv2.boxFilter(sample, cv2.CV_32F, (3, 3))
        variance = cv2.sqrBoxFilter(sample, cv2.CV_32F, (3, 3))
        cv2.subtract(variance, cv2.multiply(mean, mean, dst=mean), dst=variance)
        # Erosion keeps the gain down beside edges, where it would show on the flat side.
        variance = cv2.erode(variance, np.ones((3, 3), np.uint8), dst=mean)
        np.maximum(variance, _NOISE, out=variance)
        gain = cv2.sqrt(variance * (2 * _KAPPA) + _KAPPA * (_SSIM_C2 - 2 * _NOISE))
        gain = cast(NDArray[np.float32], cv2.blur(np.minimum(gain, _GAIN_MAX, out=gain), (3, 3)))
        rms = cv2.norm(gain) / math.sqrt(gain.size)
        if rms > _RMS_CAP:
            gain *= _RMS_CAP / rms
        if self.gain is None:
            self.used = gain.copy()
        else:
            # Down at once, up slowly: what was texture and is flat now must not show the pattern.
            np.minimum(gain, cv2.addWeighted(self.gain, 0.6, gain, 0.4, 0), out=gain)
        self.gain, self.limit = gain, gain * _TOO_STRONG
        coarse = cv2.convertScaleAbs(gain, alpha=_GAIN_SCALE)
        cv2.resize(coarse, self.size, dst=self.gain8, interpolation=cv2.INTER_LINEAR)


def _spread(pattern: NDArray[np.float32], scale: float, height: int, width: int) -> NDArray[np.float32]:
    """The pattern enlarged and repeated over a whole picture."""
    period = TILE * scale
    # At the usual heights a period is a whole number of pixels, and one tile is enough.
    whole = period == round(period)
    size = (round(period), round(period)) if whole else (width, height)
    matrix = np.array([[scale, 0, 0], [0, scale, 0]], np.float64)
    enlarged = cv2.warpAffine(pattern, matrix, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_WRAP)
    repeats = (-(-height // enlarged.shape[0]), -(-width // enlarged.shape[1]))
    return cast(NDArray[np.float32], np.tile(enlarged, repeats)[:height, :width])


class Watermark:
    """Marks pictures as made by Kawari; there is no way to switch it off.

    The pattern is constant in time and added equally to blue, green and red. One object per stream:
    it remembers the gain of the stream's last pictures. Not thread-safe.

    Args:
        payload: seven bytes, see `engine.mark.payload`.
        private: a key of the user's own; the pattern drawn from it is added to the public one, whose
            strength gives way so that the sum stays as invisible.
    """

    def __init__(self, payload: bytes, private: bytes | None = None) -> None:
        self._pattern = tile(PUBLIC_KEY, payload)
        if private is not None:
            both = math.sqrt(1 - _PRIVATE) * self._pattern + math.sqrt(_PRIVATE) * tile(private, payload)
            self._pattern = (both / both.std()).astype(np.float32)
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
