"""Finds the watermark in pictures that may have been compressed, scaled, cropped, mirrored or turned.

The pattern is constant in time, so frames add up while the scene averages out. Their sum is brought
to the pattern's scale and angle, folded onto one tile, whitened, and correlated with the key's
synchronisation tile by FFT; the carriers' shifts from there are the payload. Everything runs at half
the pattern's resolution, where video codecs leave something.
"""

from __future__ import annotations

import enum
import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.mark.pattern import (
    REFERENCE_HEIGHT,
    SHIFT,
    SYMBOLS,
    TILE,
    band,
    carriers,
    from_symbols,
    radial_frequency,
)
from engine.mark.payload import Payload
from engine.mark.watermark import PUBLIC_KEY

Plane = NDArray[np.float32]

_SIDE = TILE // 2
_HEIGHT = REFERENCE_HEIGHT // 2
SURE = 9.0
"""z at which the mark is present even if its payload can't be read."""
SURE_WITH_PAYLOAD = 7.5
"""z at which it is present if a payload with a valid CRC-24 was read."""
POSSIBLE = 6.5
"""z from which the answer is "uncertain"."""
_LIST = 256
"""Payload candidates tried per position: 256 / 2^24 is the chance of a wrong CRC passing."""
_ALTERNATIVES = 4


class Verdict(enum.Enum):
    """The detector's answer."""

    PRESENT = "present"
    UNCERTAIN = "uncertain"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Pose:
    """How a picture lies against the one that was marked.

    Attributes:
        scale: factor that brings the picture, reduced to 360 rows, to the pattern's scale.
        angle: degrees by which it must be turned, counter-clockwise.
        mirrored: whether it must be mirrored left to right.
    """

    scale: float = 1.0
    angle: float = 0.0
    mirrored: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found.

    Attributes:
        verdict: see `Verdict`.
        z: correlation peak in standard deviations of unmarked pictures.
        payload: what the mark says, None if it could not be read.
        frames: number of frames used.
        pose: geometry at which the peak was found.
    """

    verdict: Verdict
    z: float
    payload: Payload | None
    frames: int
    pose: Pose


@dataclass(frozen=True, slots=True)
class _Peak:
    z: float
    position: tuple[int, int]
    spectrum: NDArray[np.complex128]
    pose: Pose


def _scales(low: float, high: float, step: float) -> list[float]:
    count = round(math.log(high / low) / math.log1p(step))
    return [low * (high / low) ** (index / count) for index in range(count + 1)]


class Detector:
    """Accumulates frames of one size and looks for the mark. Not thread-safe.

    Args:
        key: the key the pictures were marked with.
    """

    def __init__(self, key: bytes = PUBLIC_KEY) -> None:
        keep = np.r_[0 : _SIDE // 2, TILE - _SIDE // 2 : TILE]
        self._carriers = [spectrum[np.ix_(keep, keep)] for spectrum in carriers(key)]
        self._band = band()[np.ix_(keep, keep)]
        rings = np.round(radial_frequency(_SIDE) * _SIDE).astype(int)
        self._rings = rings
        self._ring_sizes = np.maximum(np.bincount(rings.ravel()), 1)
        self._sum: Plane | None = None
        self._frames = 0

    def reset(self) -> None:
        """Forget all frames."""
        self._sum, self._frames = None, 0

    def feed(self, image: NDArray[np.uint8]) -> None:
        """Add a frame.

        Args:
            image: uint8, H×W (luma) or H×W×3 (BGR). All frames between two resets belong to one
                stream; if their size changes, the earlier ones are dropped.
        """
        plane = self._normalised(image)
        if self._sum is None or self._sum.shape != plane.shape:
            self._sum, self._frames = plane, 1
        else:
            self._sum += plane
            self._frames += 1

    def find(self, *, thorough: bool = True) -> Finding:
        """Look for the mark in what was fed.

        Args:
            thorough: also search scale 0.85..1.2, mirroring and rotation up to 2.2°, which takes
                seconds; otherwise only the geometry as marked is tried.
        """
        if self._sum is None:
            return Finding(Verdict.ABSENT, 0.0, None, 0, Pose())
        best = self._at(self._sum, Pose())
        finding = self._judge(best)
        if finding.verdict is Verdict.PRESENT or not thorough:
            return finding
        for peak in self._search(self._sum):
            candidate = self._judge(peak)
            if candidate.verdict is Verdict.PRESENT:
                return candidate
            finding = max(finding, candidate, key=lambda each: each.z)
        return finding

    @staticmethod
    def _normalised(image: NDArray[np.uint8]) -> Plane:
        """Luma reduced to 360 rows, low frequencies removed, local contrast evened out and limited."""
        luma = image if image.ndim == 2 else cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
        height, width = luma.shape
        columns = max(round(width * _HEIGHT / height), 8)
        small = cv2.resize(luma, (columns, _HEIGHT), interpolation=cv2.INTER_AREA).astype(np.float32)
        detail = small - cv2.blur(cv2.blur(small, (5, 5)), (5, 5))
        contrast = cv2.blur(np.abs(detail), (9, 9))
        detail /= contrast + 0.3
        return np.clip(detail, -2.5, 2.5, out=detail)

    def _search(self, plane: Plane) -> Iterable[_Peak]:
        """Peaks over scale, mirroring and rotation, the likely ones first."""
        upright = [
            self._at(plane, Pose(scale, 0.0, mirrored))
            for mirrored in (False, True)
            for scale in [1.0, *_scales(0.85, 1.2, 0.003)]
        ]
        yield max(upright, key=lambda peak: peak.z)
        # Two tiles round the middle tolerate coarse steps; the best of them are refined on everything.
        rows = slice(max(plane.shape[0] // 2 - _SIDE, 0), plane.shape[0] // 2 + _SIDE)
        columns = slice(max(plane.shape[1] // 2 - _SIDE, 0), plane.shape[1] // 2 + _SIDE)
        middle = np.ascontiguousarray(plane[rows, columns])
        coarse = [
            self._at(middle, Pose(scale, float(angle), mirrored))
            for mirrored in (False, True)
            for scale in _scales(0.85, 1.2, 0.007)
            for angle in np.arange(-2.2, 2.21, 0.4)
        ]
        coarse.sort(key=lambda peak: -peak.z)
        refined = [self._refine(plane, peak.pose) for peak in coarse[:12]]
        yield max(refined, key=lambda peak: peak.z)

    def _refine(self, plane: Plane, pose: Pose) -> _Peak:
        best = self._at(plane, pose)
        for scale_step, angle_step in ((0.0035, 0.2), (0.0018, 0.1), (0.0009, 0.05)):
            around = [
                Pose(best.pose.scale * (1 + a * scale_step), best.pose.angle + b * angle_step, pose.mirrored)
                for a in (-1, 0, 1)
                for b in (-1, 0, 1)
                if a or b
            ]
            best = max([best, *(self._at(plane, near) for near in around)], key=lambda peak: peak.z)
        return best

    def _at(self, plane: Plane, pose: Pose) -> _Peak:
        if pose != Pose():
            height, width = plane.shape
            size = (max(round(width * pose.scale), 8), max(round(height * pose.scale), 8))
            matrix = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), pose.angle, pose.scale)
            matrix[:, 2] += [(size[0] - width) / 2, (size[1] - height) / 2]
            if pose.mirrored:
                matrix[0] = -matrix[0]
                matrix[0, 2] += size[0] - 1
            aligned = cv2.warpAffine(plane, matrix, size, flags=cv2.INTER_LINEAR).astype(
                np.float32, copy=False
            )
        else:
            aligned = plane
        spectrum = self._whitened(np.fft.fft2(self._folded(aligned)))
        correlation = self._correlate(spectrum, 0)
        peak = int(correlation.argmax())
        return _Peak(float(correlation.flat[peak]), divmod(peak, _SIDE), spectrum, pose)

    @staticmethod
    def _folded(plane: Plane) -> Plane:
        height, width = plane.shape
        rows, columns = -(-height // _SIDE), -(-width // _SIDE)
        padded = np.zeros((rows * _SIDE, columns * _SIDE), np.float32)
        padded[:height, :width] = plane
        folded: Plane = padded.reshape(rows, _SIDE, columns, _SIDE).sum((0, 2))
        return folded

    def _whitened(self, spectrum: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Equal power in every ring of frequency; single strong bins (screens, grids) limited."""
        power = np.bincount(self._rings.ravel(), (np.abs(spectrum) ** 2).ravel()) / self._ring_sizes
        power = np.convolve(power, np.ones(3) / 3, "same")
        spectrum = spectrum / np.sqrt(power[self._rings] + 1e-9) * self._band
        return spectrum * np.minimum(1, 2 / np.maximum(np.abs(spectrum), 1e-9))

    def _correlate(self, spectrum: NDArray[np.complex128], carrier: int) -> NDArray[np.float64]:
        """Correlation with a carrier at every shift, in standard deviations."""
        raw = np.real(np.fft.ifft2(spectrum * np.conj(self._carriers[carrier])))
        scale = np.sqrt((np.abs(spectrum) ** 2).sum()) / _SIDE**2
        correlation: NDArray[np.float64] = raw / (scale + 1e-12)
        return correlation

    def _judge(self, peak: _Peak) -> Finding:
        payload = self._payload(peak) if peak.z >= POSSIBLE else None
        if peak.z >= SURE or (peak.z >= SURE_WITH_PAYLOAD and payload is not None):
            verdict = Verdict.PRESENT
        else:
            verdict = Verdict.UNCERTAIN if peak.z >= POSSIBLE else Verdict.ABSENT
            payload = None
        return Finding(verdict, peak.z, payload, self._frames, peak.pose)

    def _payload(self, peak: _Peak) -> Payload | None:
        step = SHIFT // 2
        back = (-peak.position[0], -peak.position[1])
        scores = np.array(
            [
                np.roll(self._correlate(peak.spectrum, index + 1), back, (0, 1))[::step, ::step].ravel()
                for index in range(SYMBOLS)
            ]
        )
        order = np.argsort(-scores, 1)[:, :_ALTERNATIVES]
        values = np.take_along_axis(scores, order, 1)
        data = _list_decode(order, values)
        return None if data is None else Payload.from_bytes(data)


def _list_decode(order: NDArray[np.intp], values: NDArray[np.float64]) -> bytes | None:
    """The likeliest symbols whose CRC fits, trying combinations in order of likelihood."""
    heap: list[tuple[float, Sequence[int]]] = [(0.0, (0,) * SYMBOLS)]
    seen: set[Sequence[int]] = set()
    while heap and len(seen) < _LIST:
        cost, ranks = heapq.heappop(heap)
        if ranks in seen:
            continue
        seen.add(ranks)
        data = from_symbols(tuple(int(order[i, rank]) for i, rank in enumerate(ranks)))
        if data is not None:
            return data
        for i, rank in enumerate(ranks):
            if rank + 1 < order.shape[1]:
                worse = (*ranks[:i], rank + 1, *ranks[i + 1 :])
                heapq.heappush(heap, (cost + float(values[i, rank] - values[i, rank + 1]), worse))
    return None
