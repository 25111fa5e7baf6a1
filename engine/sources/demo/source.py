"""The demo camera as a source of frames."""

from __future__ import annotations

import threading
import time

import cv2
import numpy as np

from engine.errors import UsageError
from engine.sources.base import SourceInfo
from engine.sources.demo.motion import Motion
from engine.sources.demo.puppet import Puppet
from engine.types import Frame, Image

_GRAIN = 64  # random places of the noise picture, pixels


class DemoSource:
    """An endless webcam picture of a person who turns, blinks and speaks.

    The pictures depend on the frame's id, the size, the rate and the seed only.

    Args:
        size: width and height, pixels.
        fps: frames per second.
        seed: chooses the movements.
        realtime: at the pace of a camera (`live`), missing frames if the reader is slow; otherwise as
            fast as they are read, with times.
        faces: 1, or 2 for two people side by side.
        frames: end after this many; None goes on for ever.
        noise: standard deviation of the sensor's noise, levels.
        flicker: depth of a lamp's flicker, 0..1.
    """

    def __init__(
        self,
        size: tuple[int, int] = (1280, 720),
        fps: float = 30.0,
        *,
        seed: int = 0,
        realtime: bool = True,
        faces: int = 1,
        frames: int | None = None,
        noise: float = 1.5,
        flicker: float = 0.0,
    ) -> None:
        if faces not in (1, 2):
            raise UsageError(f"The demo camera can't show {faces} people", "Give 1 or 2")
        if min(size) < 64 or not fps > 0:
            raise UsageError(f"The demo camera can't show {size[0]}x{size[1]} at {fps:g} fps")
        self._size, self._fps, self._seed, self._realtime = size, fps, seed, realtime
        self._count, self._noise, self._flicker = frames, noise, flicker
        self._faces = faces
        self._cast: list[tuple[Puppet, Motion]] = []
        self._closed = threading.Event()
        self._next_id = 0
        self._began = 0.0

    def open(self) -> SourceInfo:
        """Prepare the person (a second or so)."""
        width, height = self._size
        share = width // self._faces
        if not self._cast:
            self._cast = [
                (
                    Puppet(share + (width - share * self._faces) * k, height, mirrored=k > 0),
                    Motion(self._seed + k),
                )
                for k in range(self._faces)
            ]
            self._grain = _grain(self._size, self._noise, self._seed)
        self._closed.clear()
        self._next_id = 0
        self._began = time.monotonic()
        frames = None if self._realtime else self._count
        return SourceInfo("Demo camera", width, height, self._fps, self._realtime, frames)

    def read(self) -> Frame | None:
        """The next picture; None after `frames` of them and after `close`."""
        if self._realtime:
            # like a camera: what the reader was too slow for is gone
            due = int((time.monotonic() - self._began) * self._fps)
            number = max(self._next_id, due)
            if self._closed.wait(max(0.0, self._began + number / self._fps - time.monotonic())):
                return None
        else:
            number = self._next_id
        if self._closed.is_set() or (self._count is not None and number >= self._count):
            return None
        self._next_id = number + 1
        image = self.picture(number)
        return Frame(number, time.monotonic_ns(), image, None if self._realtime else number / self._fps)

    def picture(self, number: int) -> Image:
        """The picture with this id; only while open."""
        seconds = number / self._fps
        parts = [puppet.render(motion.at(seconds)) for puppet, motion in self._cast]
        image = parts[0] if len(parts) == 1 else np.hstack(parts)
        gain = 1 + self._flicker * 0.5 * np.sin(2 * np.pi * 7.3 * seconds)
        if self._noise <= 0:
            return image if self._flicker == 0 else cv2.convertScaleAbs(image, alpha=gain)  # type: ignore[return-value]
        x, y = np.random.default_rng((self._seed, number)).integers(0, _GRAIN, 2)
        width, height = self._size
        grain = self._grain[y : y + height, x : x + width]
        return cv2.addWeighted(image, gain, grain, 1, -128, dst=image)  # type: ignore[return-value]

    def close(self) -> None:
        """A waiting `read` returns None."""
        self._closed.set()


def _grain(size: tuple[int, int], sigma: float, seed: int) -> Image:
    """Noise round 128, larger than a picture, so that a random part of it can be used."""
    width, height = size
    shape = height + _GRAIN, width + _GRAIN, 3
    noise = np.random.default_rng(seed).standard_normal(shape, np.float32)
    return cv2.convertScaleAbs(noise, alpha=sigma, beta=128)  # type: ignore[return-value]
