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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft2, rfft2

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

Luma = NDArray[np.uint8]
Plane = NDArray[np.float32]
Spectrum = NDArray[np.complex64]

_SIDE = TILE // 2
_HEIGHT = REFERENCE_HEIGHT // 2
_SMALLEST = 16
"""Rows and columns that a plane has at least."""
SURE = 9.0
"""z at which the mark is present even if its payload can't be read."""
POSSIBLE = 6.5
"""z from which the answer is "uncertain", and "present" if a payload with a valid CRC-24 was read."""
TRIED = 2048
"""Payload candidates tried: 2048 / 2^24 is the chance that a wrong one's CRC passes."""
_ALTERNATIVES = 6


class Verdict(enum.Enum):
    """The detector's answer."""

    PRESENT = "present"
    UNCERTAIN = "uncertain"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Pose:
    """How a picture lies against the one that was marked.

    Attributes:
        scale: factor that brings the picture, reduced to 360 rows or, if `small`, to half its rows,
            to the pattern's scale.
        small: the picture was marked as one of less than 720 rows, and has kept its size.
        angle: degrees by which it must be turned, counter-clockwise.
        mirrored: whether it must be mirrored left to right.
    """

    scale: float = 1.0
    angle: float = 0.0
    mirrored: bool = False
    small: bool = False


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
    spectrum: Spectrum
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
        rows = np.r_[0 : _SIDE // 2, TILE - _SIDE // 2 : TILE]
        half = np.ix_(rows, np.arange(_SIDE // 2 + 1))
        self._carriers = [np.conj(spectrum[half]).astype(np.complex64) for spectrum in carriers(key)]
        self._band = band()[half].astype(np.float32)
        rings = np.round(radial_frequency(_SIDE) * _SIDE).astype(int)[:, : _SIDE // 2 + 1]
        self._rings = rings
        self._ring_sizes = np.maximum(np.bincount(rings.ravel()), 1)
        # Columns of a real picture's half spectrum that stand for two of the whole one.
        self._twice = np.full(_SIDE // 2 + 1, 2, np.float32)
        self._twice[[0, -1]] = 1
        self._sums: dict[bool, Plane] = {}
        self._best: _Peak | None = None
        self._shape: tuple[int, ...] = ()
        self._frames = 0

    def reset(self) -> None:
        """Forget all frames."""
        self._sums, self._best, self._shape, self._frames = {}, None, (), 0

    def feed(self, image: NDArray[np.uint8]) -> None:
        """Add a frame.

        Args:
            image: uint8, H×W (luma) or H×W×3 (BGR). All frames between two resets belong to one
                stream; if their size changes, the earlier ones are dropped.
        """
        luma = image if image.ndim == 2 else cast(Luma, cv2.cvtColor(image, cv2.COLOR_BGR2GRAY))
        if luma.shape != self._shape:
            self.reset()
            self._shape = luma.shape
        height = luma.shape[0]
        planes = {False: _normalised(luma, _HEIGHT)}
        if height < REFERENCE_HEIGHT:
            planes[True] = _normalised(luma, max(height // 2, _SMALLEST))
        for small, plane in planes.items():
            # A codec's key frames keep more of the mark than those between, which in a pan even
            # carry the old place's mark along and spoil the sum: the best frame is tried alone.
            peak = self._at(plane, Pose(small=small))
            if self._best is None or peak.z > self._best.z:
                self._best = peak
            if small in self._sums:
                self._sums[small] += plane
            else:
                self._sums[small] = plane
        self._frames += 1

    def find(self, *, thorough: bool = True) -> Finding:
        """Look for the mark in what was fed.

        Args:
            thorough: also search scales of 0.3 to 1.2, mirroring and rotation up to 2.2°, which takes
                seconds; otherwise only the geometry as marked is tried.
        """
        if self._best is None:
            return Finding(Verdict.ABSENT, 0.0, None, 0, Pose())
        finding = self._judge(self._best)
        for peaks in self._searches(thorough):
            candidate = self._judge(max(peaks, key=lambda peak: peak.z))
            finding = max(finding, candidate, key=lambda each: (each.payload is not None, each.z))
            if finding.payload is not None:
                break
        return finding

    def _searches(self, thorough: bool) -> Iterator[list[_Peak]]:
        """Peaks in ever less likely geometries."""
        sums = self._sums
        marked_small = Pose(scale=self._shape[0] / REFERENCE_HEIGHT)  # less blurred, now and then better
        yield [
            *(self._at(plane, Pose(small=small)) for small, plane in sums.items()),
            *([self._at(sums[False], marked_small)] if True in sums else []),
        ]
        if not thorough:
            return
        yield [self._at(plane, Pose(mirrored=True, small=small)) for small, plane in sums.items()]
        for scales in (_scales(0.85, 1.2, 0.003), _scales(0.3, 0.85, 0.003)):
            yield [
                self._at(sums[False], Pose(scale, 0.0, mirrored))
                for mirrored in (False, True)
                for scale in scales
            ]
        for small, plane in sums.items():
            # Two tiles round the middle tolerate coarse steps; the best of them are refined on everything.
            coarse = [
                self._at(_middle(plane), Pose(scale, float(angle), mirrored, small))
                for mirrored in (False, True)
                for scale in ([1.0] if small else _scales(0.85, 1.2, 0.007))
                for angle in np.arange(-2.2, 2.21, 0.4)
            ]
            coarse.sort(key=lambda peak: -peak.z)
            yield [self._refine(plane, peak.pose) for peak in coarse[:12]]

    def _refine(self, plane: Plane, pose: Pose) -> _Peak:
        best = self._at(plane, pose)
        for scale_step, angle_step in ((0.0035, 0.2), (0.0018, 0.1), (0.0009, 0.05)):
            at = best.pose
            around = [
                Pose(at.scale * (1 + a * scale_step), at.angle + b * angle_step, at.mirrored, at.small)
                for a in (-1, 0, 1)
                for b in (-1, 0, 1)
                if a or b
            ]
            best = max([best, *(self._at(plane, near) for near in around)], key=lambda peak: peak.z)
        return best

    def _at(self, plane: Plane, pose: Pose) -> _Peak:
        spectrum = self._whitened(rfft2(_folded(_aligned(plane, pose))))
        correlation = self._correlate(spectrum, 0)
        peak = int(correlation.argmax())
        return _Peak(float(correlation.flat[peak]), divmod(peak, _SIDE), spectrum, pose)

    def _whitened(self, spectrum: Spectrum) -> Spectrum:
        """Equal power in every ring of frequency; single strong bins (screens, grids) limited."""
        power = np.bincount(self._rings.ravel(), (np.abs(spectrum) ** 2).ravel()) / self._ring_sizes
        power = np.convolve(power, np.ones(3) / 3, "same")
        gain = (1 / np.sqrt(power + 1e-9)).astype(np.float32)
        white: Spectrum = spectrum * (gain[self._rings] * self._band)
        white *= np.minimum(1, 2 / np.maximum(np.abs(white), np.float32(1e-9)))
        return white

    def _correlate(self, spectrum: Spectrum, carrier: int) -> Plane:
        """Correlation with a carrier at every shift, in standard deviations."""
        raw = irfft2(spectrum * self._carriers[carrier], (_SIDE, _SIDE))
        power = float(((np.abs(spectrum) ** 2) * self._twice).sum())
        correlation: Plane = raw / np.float32(math.sqrt(power) / _SIDE**2 + 1e-12)
        return correlation

    def _judge(self, peak: _Peak) -> Finding:
        payload = self._payload(peak) if peak.z >= POSSIBLE else None
        if peak.z >= SURE or payload is not None:
            verdict = Verdict.PRESENT
        else:
            verdict = Verdict.UNCERTAIN if peak.z >= POSSIBLE else Verdict.ABSENT
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


def _normalised(luma: Luma, rows: int) -> Plane:
    """Luma reduced to `rows`, low frequencies removed, local contrast evened out and limited."""
    height, width = luma.shape
    columns = max(round(width * rows / height), _SMALLEST)
    small = cv2.resize(luma, (columns, rows), interpolation=cv2.INTER_AREA).astype(np.float32)
    detail = small - cv2.blur(cv2.blur(small, (5, 5)), (5, 5))
    contrast = cv2.blur(np.abs(detail), (9, 9))
    detail /= contrast + 0.3
    plane: Plane = np.clip(detail, -2.5, 2.5, out=detail)
    return plane


def _aligned(plane: Plane, pose: Pose) -> Plane:
    """The plane brought to the pattern's scale and angle."""
    if pose.scale == 1 and not pose.angle:
        return np.ascontiguousarray(plane[:, ::-1]) if pose.mirrored else plane
    height, width = plane.shape
    size = (max(round(width * pose.scale), _SMALLEST), max(round(height * pose.scale), _SMALLEST))
    matrix = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), pose.angle, pose.scale)
    matrix[:, 2] += [(size[0] - width) / 2, (size[1] - height) / 2]
    if pose.mirrored:
        matrix[0] = -matrix[0]
        matrix[0, 2] += size[0] - 1
    return cast(Plane, cv2.warpAffine(plane, matrix, size, flags=cv2.INTER_LINEAR))


def _folded(plane: Plane) -> Plane:
    """All tiles of the plane added up."""
    height, width = plane.shape
    rows, columns = -(-height // _SIDE), -(-width // _SIDE)
    padded = np.zeros((rows * _SIDE, columns * _SIDE), np.float32)
    padded[:height, :width] = plane
    folded: Plane = padded.reshape(rows, _SIDE, columns, _SIDE).sum((0, 2))
    return folded


def _middle(plane: Plane) -> Plane:
    """Two by two tiles round the middle."""
    top, left = (max(side // 2 - _SIDE, 0) for side in plane.shape)
    return np.ascontiguousarray(plane[top : top + 2 * _SIDE, left : left + 2 * _SIDE])


def _list_decode(order: NDArray[np.intp], values: NDArray[np.float64]) -> bytes | None:
    """The likeliest symbols whose CRC fits, trying combinations in order of likelihood."""
    heap: list[tuple[float, Sequence[int]]] = [(0.0, (0,) * SYMBOLS)]
    seen: set[Sequence[int]] = set()
    while heap and len(seen) < TRIED:
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
