"""Windows of pictures that carry no mark: clips, photos, noise, text, screens, textures that repeat.

Everything but the clips is drawn from a seed. A window is a list of frames of one size, uint8, H×W
(luma) or H×W×3 (BGR).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import cv2
import numpy as np
from numpy.typing import NDArray

from app.bench.material import read_frames
from app.bench.watermark.attacks import resized
from engine.errors import InputError
from engine.types import Image

Window = list[Image]
_SIZES = ((720, 1280), (480, 640), (360, 640), (540, 960))
_HELD = 2
"""Frames of a window of a photo."""
_DRAWN = 1
"""Frames of a window that is drawn: more would differ by noise or motion alone, which averages out."""
_WORDS = (
    "the",
    "of",
    "and",
    "camera",
    "you",
    "that",
    "it",
    "was",
    "for",
    "on",
    "window",
    "settings",
    "file",
    "with",
)
_FONTS = (
    cv2.FONT_HERSHEY_SIMPLEX,
    cv2.FONT_HERSHEY_PLAIN,
    cv2.FONT_HERSHEY_COMPLEX,
    cv2.FONT_HERSHEY_TRIPLEX,
)


def clip_windows(path: Path, frames: int, height: int | None) -> Iterator[Window]:
    """Windows of a clip, one after the other, at its own or another height."""
    window: Window = []
    for frame in read_frames(path):
        window.append(frame.image.copy() if height is None else resized(frame.image, height).copy())
        if len(window) == frames:
            yield window
            window = []


def photo_windows(photos: Path, seed: int) -> Iterator[Window]:
    """A handheld view of a part of a photo, with a sensor's noise."""
    random = np.random.default_rng(seed)
    pictures = [image for path in sorted(photos.iterdir()) if (image := _read(path)) is not None]
    while True:
        photo = pictures[random.integers(len(pictures))]
        height, width = _SIZES[random.integers(len(_SIZES))]
        zoom = max(height / photo.shape[0], width / photo.shape[1]) * random.uniform(1.05, 2)
        noise = random.uniform(0, 4)
        shift = np.array(
            [
                random.uniform(0, photo.shape[1] * zoom - width),
                random.uniform(0, photo.shape[0] * zoom - height),
            ]
        )
        window = []
        for _ in range(_HELD):
            shift = shift + random.normal(0, 2, 2)
            matrix = np.array([[zoom, 0, -shift[0]], [0, zoom, -shift[1]]])
            view = cv2.warpAffine(photo, matrix, (width, height), borderMode=cv2.BORDER_REFLECT)
            window.append(_noisy(view, noise, random))
        yield window


def noise_windows(seed: int) -> Iterator[Window]:
    """White and coloured noise, still and moving, of any contrast."""
    random = np.random.default_rng(seed)
    while True:
        size = _SIZES[random.integers(len(_SIZES))]
        softness, contrast, still = random.uniform(0, 4), random.uniform(2, 90), random.random() < 0.5
        window: Window = []
        for _ in range(_DRAWN):
            if not (still and window):
                field = random.standard_normal(size, np.float32)
                if softness > 0.5:
                    field = cast(NDArray[np.float32], cv2.GaussianBlur(field, (0, 0), softness))
                field *= contrast / float(field.std())
                picture = np.clip(field + 128, 0, 255).astype(np.uint8)
            window.append(picture)
        yield window


def text_windows(seed: int) -> Iterator[Window]:
    """Pages of text, still or being typed."""
    random = np.random.default_rng(seed)
    while True:
        height, width = _SIZES[random.integers(len(_SIZES))]
        dark, light = sorted(int(level) for level in random.integers(0, 256, 2))
        page = np.full((height, width), light, np.uint8)
        _write(page, random, dark, 0, height)
        window = []
        for _ in range(_DRAWN):
            y = int(random.integers(20, height))
            cv2.putText(
                page, _words(random, 1), (int(random.integers(width)), y), 0, 0.6, dark, 1, cv2.LINE_AA
            )
            window.append(page.copy())
        yield window


def screen_windows(seed: int) -> Iterator[Window]:
    """A desktop with windows, buttons, a table and a page of text and pictures that scrolls."""
    random = np.random.default_rng(seed)
    while True:
        height, width = _SIZES[random.integers(len(_SIZES))]
        page = np.full((height * 2, width), int(random.integers(200, 256)), np.uint8)
        _write(page, random, int(random.integers(0, 80)), 0, height * 2)
        for _ in range(6):
            y, x = int(random.integers(height * 2 - 60)), int(random.integers(width - 60))
            h, w = (int(side) for side in random.integers(20, 200, 2))
            area = page[y : y + h, x : x + w]
            tone = np.linspace(random.uniform(0, 255), random.uniform(0, 255), area.shape[1])
            area[:] = tone if random.random() < 0.6 else random.integers(0, 256, area.shape)
        frame = _desktop(height, width, random)
        top, left = (int(0.2 * side * random.random()) for side in (height, width))
        view = frame[top : top + int(0.75 * height), left : left + int(0.75 * width)]
        speed = int(random.integers(0, 40))
        window = []
        for index in range(_DRAWN):
            view[:] = page[index * speed : index * speed + view.shape[0], : view.shape[1]]
            window.append(frame.copy())
        yield window


def texture_windows(seed: int) -> Iterator[Window]:
    """Noise, text or lines that repeat: every 256 pixels too, as the mark does."""
    random = np.random.default_rng(seed)
    periods = (256, 128, 64, 32, 16, 8, *(int(side) for side in random.integers(5, 300, 10)))
    while True:
        height, width = _SIZES[random.integers(len(_SIZES))]
        period = periods[random.integers(len(periods))]
        part = random.integers(0, 256, (period, period)).astype(np.uint8)
        if random.random() < 0.5:
            part = cast(
                Image, cv2.GaussianBlur(part, (0, 0), random.uniform(0.6, 3), borderType=cv2.BORDER_REFLECT)
            )
        rows, columns = -(-height // period), -(-width // period)
        picture = np.tile(part, (rows, columns))[:height, :width]
        yield [_noisy(picture, random.uniform(0, 3), random) for _ in range(_DRAWN)]


DRAWN: dict[str, Callable[[int], Iterator[Window]]] = {
    "noise": noise_windows,
    "text": text_windows,
    "screens": screen_windows,
    "textures": texture_windows,
}


def _read(path: Path) -> Image | None:
    """The luma of a photo of a useful size; None for files that are none."""
    from engine.sources.still import StillSource

    try:
        source = StillSource(path)
        source.open()
        frame = source.read()
        source.close()
    except InputError:
        return None
    if frame is None or min(frame.image.shape[:2]) < 200:
        return None
    luma = cast(Image, cv2.cvtColor(frame.image, cv2.COLOR_BGR2GRAY))
    return resized(luma, min(luma.shape[0], 1500))


def _noisy(image: object, sigma: float, random: np.random.Generator) -> Image:
    picture = cast(Image, image)
    noise = random.standard_normal(picture.shape, np.float32) * np.float32(sigma)
    return np.clip(picture + noise, 0, 255).astype(np.uint8)


def _words(random: np.random.Generator, count: int) -> str:
    return " ".join(_WORDS[index] for index in random.integers(0, len(_WORDS), count))


def _write(page: Image, random: np.random.Generator, ink: int, top: int, bottom: int) -> None:
    """Lines of text in one font and size from top to bottom."""
    scale, font = random.uniform(0.35, 1.2), _FONTS[random.integers(len(_FONTS))]
    for y in range(top + round(24 * scale) + 8, bottom, round(26 * scale) + int(random.integers(4, 16))):
        left = int(random.integers(4, 40))
        cv2.putText(
            page, _words(random, int(random.integers(3, 30))), (left, y), font, scale, ink, 1, cv2.LINE_AA
        )


def _desktop(height: int, width: int, random: np.random.Generator) -> Image:
    """A background with bars, buttons and a grid of cells."""
    ramp = np.linspace(random.uniform(0, 255), random.uniform(0, 255), height)
    frame = np.repeat(ramp[:, None], width, 1).astype(np.uint8)
    cell = int(random.integers(8, 60))
    frame[::cell, width // 2 :] = 90
    frame[:, width // 2 :: cell] = 90
    for _ in range(20):
        x, y = int(random.integers(width)), int(random.integers(height))
        corner = (x + int(random.integers(20, 160)), y + int(random.integers(12, 60)))
        cv2.rectangle(frame, (x, y), corner, int(random.integers(256)), -1)
        cv2.putText(
            frame, _words(random, 2), (x + 4, y + 14), 0, 0.4, int(random.integers(256)), 1, cv2.LINE_AA
        )
    return frame
