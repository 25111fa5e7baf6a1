"""CPU time, not wall time: what the machine does beside a bench must not count.

`time.process_time` adds up all threads of the process, so that work handed to OpenCV's or ONNX
Runtime's threads counts too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np

from engine.swap.base import FaceSwap, Swapper
from engine.track.base import Box, FaceTracker
from engine.types import Face, Frame, Image, Patch


@dataclass(slots=True)
class Meter:
    """Adds up CPU seconds by stage."""

    spent: dict[str, float] = field(default_factory=dict)

    def measure(self, stage: str, work: Callable[[], Any]) -> Any:
        """Do the work and book its CPU time."""
        began = time.process_time()
        try:
            return work()
        finally:
            self.spent[stage] = self.spent.get(stage, 0.0) + time.process_time() - began


class MeteredTracker:
    """A tracker whose time is booked as `track`."""

    def __init__(self, tracker: FaceTracker, meter: Meter) -> None:
        self._tracker, self._meter = tracker, meter

    @property
    def looked(self) -> bool:
        """See `FaceTracker`."""
        return self._tracker.looked

    @property
    def doubtful(self) -> tuple[Box, ...]:
        """See `FaceTracker`."""
        return self._tracker.doubtful

    @property
    def quality(self) -> object:
        """See `FaceTracker`."""
        return getattr(self._tracker, "quality", None)

    @quality.setter
    def quality(self, value: object) -> None:
        if hasattr(self._tracker, "quality"):
            self._tracker.quality = value

    def update(self, frame: Frame) -> tuple[Face, ...]:
        """See `FaceTracker`."""
        faces: tuple[Face, ...] = self._meter.measure("track", lambda: self._tracker.update(frame))
        return faces

    def reset(self) -> None:
        """See `FaceTracker`."""
        self._tracker.reset()


class MeteredFaceSwap:
    """A face swap whose time is booked as `swap`."""

    def __init__(self, swap: FaceSwap, meter: Meter) -> None:
        self._swap, self._meter = swap, meter

    def patch(self, image: Image, face: Face, strength: float) -> Patch | None:
        """See `FaceSwap`."""
        patch: Patch | None = self._meter.measure("swap", lambda: self._swap.patch(image, face, strength))
        return patch


class MeteredSwapper:
    """A swapper whose face swaps are metered."""

    def __init__(self, swapper: Swapper[Any], meter: Meter) -> None:
        self.name = swapper.name
        self._swapper, self._meter = swapper, meter
        self.prepare = swapper.prepare

    def follow(self, identity: Any) -> MeteredFaceSwap:
        """See `Swapper`."""
        return MeteredFaceSwap(self._swapper.follow(identity), self._meter)


class MeteredMarker:
    """A marker whose time is booked as `mark`."""

    def __init__(self, marker: Any, meter: Meter) -> None:
        self._marker, self._meter = marker, meter

    def apply(self, image: Image) -> None:
        """See `engine.pipeline.Marker`."""
        self._meter.measure("mark", lambda: self._marker.apply(image))


class WarpReference:
    """The yardstick: one full-frame 1280×720 `cv2.warpAffine`, u8, linear, on one thread."""

    def __init__(self) -> None:
        self._image = np.random.default_rng(0).integers(0, 256, (720, 1280, 3), np.uint8)
        self._matrix = cv2.getRotationMatrix2D((640, 360), 3, 0.97)
        self._out = np.empty_like(self._image)

    def seconds(self, repeats: int = 4) -> float:
        """CPU seconds of one warp, the least of a few."""
        before = cv2.getNumThreads()
        cv2.setNumThreads(1)
        try:
            return min(self._once() for _ in range(repeats))
        finally:
            cv2.setNumThreads(before)

    def _once(self) -> float:
        began = time.process_time()
        cv2.warpAffine(self._image, self._matrix, (1280, 720), self._out, flags=cv2.INTER_LINEAR)
        return time.process_time() - began
