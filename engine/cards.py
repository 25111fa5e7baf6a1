"""Neutral cards: full pictures without any face, shown while nothing else may leave."""

from __future__ import annotations

import threading
from collections.abc import Callable

import cv2
import numpy as np

from engine.types import Image

TEXTS: dict[str, str] = {
    "starting": "Starting",
    "panic": "Paused",
    "camera-lost": "Camera lost",
    "overload": "One moment",
    "face-lost": "One moment",
    "stage-failed": "One moment",
    "covered": "One moment",
    "tracking-only": "Camera off",
}
"""What a card says for each reason; plain words, since viewers read it and not the streamer."""

_BACKGROUND = (48, 40, 36)
_INK = (225, 220, 215)
_DIM = (120, 108, 100)
_FONT = cv2.FONT_HERSHEY_DUPLEX
_KEPT = 8


def draw_card(width: int, height: int, reason: str) -> Image:
    """A card: uint8, height×width×3, BGR; any size from 1×1."""
    image = np.empty((height, width, 3), np.uint8)
    image[:] = _BACKGROUND
    unit = min(width, height)
    if unit < 32:
        return image
    centre = (width // 2, int(height * 0.42))
    cv2.circle(image, centre, unit // 10, _DIM, max(unit // 120, 1), cv2.LINE_AA)
    for side in (-1, 1):
        x = centre[0] + side * unit // 30
        cv2.line(image, (x, centre[1] - unit // 24), (x, centre[1] + unit // 24), _DIM, max(unit // 70, 1))
    _text(image, TEXTS.get(reason, TEXTS["covered"]), int(height * 0.64))
    return image


def _text(image: Image, text: str, baseline: int) -> None:
    height, width = image.shape[:2]
    scale = min(width, height) / 420
    (wide, _), _ = cv2.getTextSize(text, _FONT, scale, 1)
    if wide > width * 0.9:
        scale *= width * 0.9 / wide
        (wide, _), _ = cv2.getTextSize(text, _FONT, scale, 1)
    thick = max(round(scale * 1.2), 1)
    cv2.putText(image, text, ((width - wide) // 2, baseline), _FONT, scale, _INK, thick, cv2.LINE_AA)


class Cards:
    """Finished cards by reason and size, and the user's own picture if there is one; thread-safe.

    Args:
        finish: applied in place to each new card (the marks); a card is drawn once and kept.
        picture: the user's still picture, uint8, H×W×3, BGR, for the reason "picture".
    """

    def __init__(self, finish: Callable[[Image], None], picture: Image | None = None) -> None:
        self._finish = finish
        self._picture = picture
        self._kept: dict[tuple[str, int, int], Image] = {}
        self._lock = threading.Lock()

    def get(self, reason: str, width: int, height: int) -> Image:
        """The card, marked; nobody writes to it."""
        key = (reason, width, height)
        with self._lock:
            if key not in self._kept:
                card = self._draw(reason, width, height)
                self._finish(card)
                while len(self._kept) >= _KEPT:
                    self._kept.pop(next(iter(self._kept)))
                self._kept[key] = card
            return self._kept[key]

    def _draw(self, reason: str, width: int, height: int) -> Image:
        if reason != "picture" or self._picture is None:
            return draw_card(width, height, reason)
        return _filling(self._picture, width, height)


def _filling(picture: Image, width: int, height: int) -> Image:
    """The picture enlarged or reduced to fill the size, what is over cut off on both sides."""
    rows, columns = picture.shape[:2]
    scale = max(width / columns, height / rows)
    size = (max(round(columns * scale), width), max(round(rows * scale), height))
    resized = cv2.resize(picture, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    x, y = (size[0] - width) // 2, (size[1] - height) // 2
    return np.ascontiguousarray(resized[y : y + height, x : x + width], np.uint8)
