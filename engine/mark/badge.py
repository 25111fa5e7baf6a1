"""The visible "AI" badge, drawn before the watermark."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage
from PIL import ImageDraw, ImageFont

from engine.config import BadgeConfig, BadgeStyle, Corner
from engine.types import Image, Mask

_Colour = tuple[int, int, int]
_HEIGHT = 0.05
"""Of the picture's shorter side."""
_SMALLEST = 14
"""Pixels; below it the letters can't be read."""
_MARGIN = 0.6
"""Distance to the picture's edge, in heights of the badge."""
_BLACK, _WHITE = (24, 22, 20), (250, 250, 250)
_LOOKS = {
    BadgeStyle.DARK: ("AI", _BLACK, _WHITE),
    BadgeStyle.LIGHT: ("AI", _WHITE, _BLACK),
    BadgeStyle.WORDS: ("AI-generated", _BLACK, _WHITE),
}
"""Text, ground and ink of each style, RGB."""
_OPACITY = 200
"""Of the ground, 0..255: ink on it keeps a contrast above 7:1 over any picture (WCAG 2.2)."""


class Badge:
    """Draws the badge; the drawing is kept per picture size. One thread draws.

    Args:
        config: how to begin with.
    """

    def __init__(self, config: BadgeConfig | None = None) -> None:
        self.config = config or BadgeConfig()
        """May be replaced by any thread; takes effect with the next picture."""
        self._drawn: tuple[BadgeConfig, int, int] | None = None
        self._ink: Image = np.zeros((0, 0, 3), np.uint8)
        self._weight: NDArray[np.float32] = np.zeros((0, 0), np.float32)
        self._at = (0, 0)

    def apply(self, image: Image) -> None:
        """Draw it in place; pictures too small to show it are left alone.

        Args:
            image: uint8, H×W×3, BGR, writable.
        """
        wanted = (self.config, image.shape[0], image.shape[1])
        if wanted != self._drawn:
            self._prepare(*wanted)
        rows, columns = self._weight.shape
        if not rows:
            return
        x, y = self._at
        view = image[y : y + rows, x : x + columns]
        view[:] = cv2.blendLinear(view, self._ink, 1 - self._weight, self._weight)

    def _prepare(self, config: BadgeConfig, height: int, width: int) -> None:
        self._drawn = (config, height, width)
        tall = max(round(min(height, width) * _HEIGHT), _SMALLEST)
        drawn, mask = _draw(tall, *_LOOKS[config.style])
        wide = drawn.shape[1]
        margin = round(tall * _MARGIN)
        if not config.shown or height < tall + 2 * margin or width < wide + 2 * margin:
            self._weight = np.zeros((0, 0), np.float32)
            return
        left = config.place in (Corner.TOP_LEFT, Corner.BOTTOM_LEFT)
        top = config.place in (Corner.TOP_LEFT, Corner.TOP_RIGHT)
        self._at = (margin if left else width - wide - margin, margin if top else height - tall - margin)
        self._ink = drawn
        self._weight = mask.astype(np.float32) / np.float32(255)


def _draw(tall: int, text: str, ground: _Colour, ink_colour: _Colour) -> tuple[Image, Mask]:
    """The badge and its opacity, drawn four times as large and reduced."""
    big = 4 * tall
    font = ImageFont.load_default(size=big * 0.66)
    left, top, right, bottom = font.getbbox(text)
    wide = int(right - left + big * 0.9)
    ink = PillowImage.new("RGB", (wide, big), ground)
    opacity = PillowImage.new("L", (wide, big), 0)
    ImageDraw.Draw(opacity).rounded_rectangle((0, 0, wide - 1, big - 1), big // 3, fill=_OPACITY)
    place = ((wide - right - left) / 2, (big - bottom - top) / 2)
    ImageDraw.Draw(ink).text(place, text, fill=ink_colour, font=font)
    ImageDraw.Draw(opacity).text(place, text, fill=255, font=font)
    size = (round(wide / 4), tall)
    return (
        np.asarray(ink.resize(size, PillowImage.Resampling.BOX), np.uint8)[..., ::-1].copy(),
        np.asarray(opacity.resize(size, PillowImage.Resampling.BOX), np.uint8).copy(),
    )
