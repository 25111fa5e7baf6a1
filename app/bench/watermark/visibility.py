"""How much of the mark can be seen: against each frame, from frame to frame, and while the view moves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from app.bench.material import read_frames
from app.bench.report import Report, Value
from app.bench.watermark.attacks import resized
from app.bench.watermark.jobs import Job, Row
from app.bench.watermark.robustness import CLIPS, PAYLOAD, QUICK
from engine.mark.detector import Detector
from engine.mark.pattern import REFERENCE_HEIGHT
from engine.mark.watermark import Watermark
from engine.types import Image

FRAMES, LOOKED_AT = 48, 8
"""Frames of a clip; every so many are compared in full."""
SIZES = ((359, 479), (481, 853), (768, 1366), (1364, 720), (2160, 3840))
"""Odd and large ones, rows and columns."""
PAN, PAN_FRAMES = 24, 48
"""Columns by which a pan moves a frame at 720 rows: 1.8 s for the width of the picture at 30 a second."""
_BLOCK = 16
_FLAT = 3.0
"""Standard deviation, levels, up to which a block of the picture counts as flat."""


def jobs(data: Path, quick: bool) -> list[Job]:
    """One for each clip and size, one for the odd sizes, the still wall and the pan."""
    made = [
        Job(f"seen in {clip} at {height or 'its size'}", clip_seen, (data / "videos" / clip, height))
        for clip in (QUICK if quick else CLIPS)
        for height in ((None,) if quick else (None, REFERENCE_HEIGHT))
    ]
    photo = data / "images" / "uni_group_meeting.jpg"
    sizes = SIZES[:-1] if quick else SIZES
    return [
        *made,
        Job("seen at odd sizes", sizes_seen, (photo, sizes)),
        Job("seen in a pan", pan_seen, (photo,)),
    ]


def clip_seen(path: Path, height: int | None) -> list[Row]:
    """PSNR, SSIM, flicker of one clip."""
    watermark = Watermark(PAYLOAD.to_bytes())
    psnr, similarity, seen = [], [], []
    for frame in read_frames(path, 0, FRAMES):
        image = frame.image if height is None else resized(frame.image, height)
        marked = image.copy()
        watermark.apply(marked)
        psnr.append(cv2.PSNR(image, marked))
        seen.append((blocks(image), blocks(marked)))
        if frame.id % LOOKED_AT == LOOKED_AT - 1:
            similarity.append(ssim(image, marked))
    return [
        {
            "clip": path.stem,
            "size": f"{image.shape[1]}×{image.shape[0]}",
            "psnr": min(psnr),
            "ssim": min(similarity),
            "flicker": unrest([one for _, one in seen]) / unrest([one for one, _ in seen]),
        }
    ]


def sizes_seen(photo: Path, sizes: Sequence[tuple[int, int]]) -> list[Row]:
    """PSNR, SSIM, flicker of a photo at other sizes, and whether one picture is enough to find the mark."""
    rows = []
    source = read_photo(photo)
    for height, width in sizes:
        image = fitted(source, height, width)
        watermark, outputs = Watermark(PAYLOAD.to_bytes()), []
        for _ in range(9):
            marked = image.copy()
            watermark.apply(marked)
            outputs.append(marked)
        detector = Detector()
        detector.feed(marked)
        rows.append(
            {
                "clip": "photo, still",
                "size": f"{width}×{height}",
                "psnr": cv2.PSNR(image, marked),
                "ssim": ssim(image, marked),
                "step": largest_step(outputs[1:]),
                "read": detector.find(thorough=False).payload == PAYLOAD,
            }
        )
    return rows


def pan_seen(photo: Path) -> list[Row]:
    """The mark on flat parts of a pan, over that of a stream that begins with the same frame.

    A gain that lags behind the picture would leave strong parts of the pattern where texture has
    just made way for a wall: a dirty window before the view.
    """
    watermark, excess, flat, psnr = Watermark(PAYLOAD.to_bytes()), [], [], []
    for image in pan(photo):
        marked, fresh = image.copy(), image.copy()
        watermark.apply(marked)
        Watermark(PAYLOAD.to_bytes()).apply(fresh)
        plain = spread(image) <= _FLAT
        now, ideal = (spread_of_difference(one, image) for one in (marked, fresh))
        excess.append(now[plain] / np.maximum(ideal[plain], 0.3))
        flat.append(now[plain])
        psnr.append(cv2.PSNR(image, marked))
    row = {
        "lag_99": float(np.quantile(np.concatenate(excess), 0.99)),
        "flat_rms": float(np.mean(np.concatenate(flat))),
        "flat_rms_99": float(np.quantile(np.concatenate(flat), 0.99)),
        "psnr": min(psnr),
    }
    return [row]


def pan(photo: Path) -> Iterator[Image]:
    """A quick pan over a photo with flat and busy parts, at 720 rows, with a sensor's noise."""
    random = np.random.default_rng(0)
    wide = fitted(read_photo(photo), 720, 1280 + PAN * PAN_FRAMES)
    for index in range(PAN_FRAMES):
        view = wide[:, index * PAN : index * PAN + 1280]
        yield np.clip(view + random.normal(0, 1, view.shape), 0, 255).astype(np.uint8)


def read_photo(path: Path) -> Image:
    """A photo as BGR."""
    from engine.sources.still import StillSource

    source = StillSource(path)
    source.open()
    frame = source.read()
    source.close()
    assert frame is not None
    return frame.image


def fitted(image: Image, height: int, width: int) -> Image:
    """The middle of a picture, scaled to fill a size."""
    scale = max(height / image.shape[0], width / image.shape[1])
    rows, columns = (
        min(round(side / scale), limit) for side, limit in zip((height, width), image.shape, strict=False)
    )
    top, left = (image.shape[0] - rows) // 2, (image.shape[1] - columns) // 2
    part = image[top : top + rows, left : left + columns]
    fit = np.empty((height, width, 3), np.uint8)
    cv2.resize(part, (width, height), dst=fit, interpolation=cv2.INTER_CUBIC)
    return fit


def ssim(one: Image, other: Image) -> float:
    """Mean SSIM of the three channels (Wang et al. 2004, windows of 7×7) in the middle 1280×720."""
    from skimage.metrics import structural_similarity

    top, left = (max((side - limit) // 2, 0) for side, limit in zip(one.shape, (720, 1280), strict=False))
    part = np.s_[top : top + 720, left : left + 1280]
    similarity: Callable[..., float] = structural_similarity
    return float(similarity(one[part], other[part], channel_axis=2))


def blocks(image: Image) -> NDArray[np.float32]:
    """Mean luma of blocks: what the eye notices of flicker."""
    size = (max(image.shape[1] // _BLOCK, 1), max(image.shape[0] // _BLOCK, 1))
    small: NDArray[np.float32] = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.float32)
    means: NDArray[np.float32] = small.mean(2)
    return means


def unrest(planes: Sequence[NDArray[np.float32]]) -> float:
    """RMS change of the blocks from frame to frame, levels."""
    return float(np.sqrt(np.mean([np.mean((b - a) ** 2) for a, b in itertools.pairwise(planes)])) + 1e-3)


def largest_step(outputs: Sequence[Image]) -> int:
    """The most that any value changes between two pictures of a still scene, levels."""
    return max(int(cv2.absdiff(a, b).max()) for a, b in itertools.pairwise(outputs))


def spread(image: Image) -> NDArray[np.float32]:
    """Standard deviation within blocks of the green channel."""
    green = image[..., 1].astype(np.float32)
    mean, square = (
        cv2.boxFilter(one, -1, (_BLOCK, _BLOCK))[::_BLOCK, ::_BLOCK] for one in (green, green * green)
    )
    deviation: NDArray[np.float32] = np.sqrt(np.maximum(square - mean * mean, 0))
    return deviation


def spread_of_difference(marked: Image, image: Image) -> NDArray[np.float32]:
    """RMS of the mark within blocks, levels."""
    green = marked[..., 1].astype(np.float32) - image[..., 1]
    rms: NDArray[np.float32] = np.sqrt(cv2.boxFilter(green * green, -1, (_BLOCK, _BLOCK))[::_BLOCK, ::_BLOCK])
    return rms


def summarise(rows: Sequence[Row], report: Report) -> None:
    """Tables and the figures to judge."""
    table: list[list[Value]] = [
        [row.get(name) for name in ("clip", "size", "psnr", "ssim", "flicker", "step")]
        for row in rows
        if "ssim" in row
    ]
    report.table("visibility", ("clip", "size", "PSNR, dB", "SSIM", "flicker", "largest step"), table)
    pans = [row for row in rows if "lag_99" in row]
    columns = ("pan", "lag", "RMS on flat parts, levels", "99th percentile", "least PSNR, dB")
    report.table("pan of 24 columns a frame", columns, [
        ["photo", row["lag_99"], row["flat_rms"], row["flat_rms_99"], row["psnr"]] for row in pans
    ])  # fmt: skip
    report.figures |= {
        "psnr": min(row["psnr"] for row in rows),
        "ssim": min(row["ssim"] for row in rows if "ssim" in row),
        "flicker": max(row["flicker"] for row in rows if "flicker" in row),
        "largest_step": max(row["step"] for row in rows if "step" in row),
        "sizes_read": min(row["read"] for row in rows if "read" in row),
        "pan_lag": max(row["lag_99"] for row in pans),
    }
    report.check("psnr", ">=", 42)
    report.check("ssim", ">=", 0.985)
    report.check("flicker", "<=", 1.05)
    report.check("largest_step", "<=", 1)
    report.check("sizes_read", ">=", 1)
    report.check("pan_lag", "<=", 1.5)
