"""Scripted parts around the real pipeline and session: a small world whose truth is known.

A *world* is a list of people who move about in a small picture; each face is painted with a texture
of its own, so that a test can say whether an output shows it. The tracker knows the truth and fails
on command; the swapper paints something else and fails on command.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import cv2
import numpy as np

from engine.errors import DeviceError
from engine.quality import LADDER, Quality
from engine.sinks.base import StreamInfo
from engine.sources.base import SourceInfo
from engine.track.topology import LEFT_EYE, RIGHT_EYE
from engine.types import Face, Frame, Image, Output, Patch
from models import embedded

WIDTH, HEIGHT = 96, 72


def _unit_face() -> np.ndarray:
    """A frontal face of width 1 round the origin: float32, (478, 3)."""
    points = np.load(embedded("canonical_face.npz"))["vertices"] * (1, -1, -1)
    points = (points - (points.min(0) + points.max(0)) / 2) / np.ptp(points[:, 0])
    irises = [points[eye].mean(0) for eye in (RIGHT_EYE, LEFT_EYE) for _ in range(5)]
    return np.concatenate([points, irises]).astype(np.float32)


_UNIT = _unit_face()
_HALF_HEIGHT = float(_UNIT[:, 1].max())


@cache
def _texture(number: int) -> Image:
    return np.random.default_rng(number).integers(60, 200, (64, 64, 3)).astype(np.uint8)


@dataclass
class Person:
    """Somebody in the world; `id` is the one the tracker gives."""

    id: int
    x: float = 48
    y: float = 36
    width: float = 30
    there: bool = True

    @property
    def face(self) -> Face:
        return Face(self.id, _UNIT * np.float32(self.width) + np.float32([self.x, self.y, 0]), 0.99)

    @property
    def box(self) -> tuple[float, float, float, float]:
        across, down = self.width / 2, self.width * _HALF_HEIGHT
        return self.x - across, self.y - down, self.x + across, self.y + down

    def paint(self, image: Image) -> None:
        x0, y0, x1, y1 = (round(v) for v in self.box)
        mask = np.zeros(image.shape[:2], np.uint8)
        cv2.ellipse(mask, (((x0 + x1) / 2, (y0 + y1) / 2), (x1 - x0, y1 - y0), 0), 255, -1)
        rows, columns = image.shape[:2]
        move = np.float32([[(x1 - x0) / 64, 0, x0], [0, (y1 - y0) / 64, y0]])
        drawn = cv2.warpAffine(_texture(self.id), move, (columns, rows), flags=cv2.INTER_NEAREST)
        cv2.copyTo(drawn, mask, image)


@dataclass
class World:
    """People before a background with slight noise."""

    people: list[Person] = field(default_factory=lambda: [Person(1)])
    width: int = WIDTH
    height: int = HEIGHT
    tick: int = 0
    log: dict[int, tuple[Image, list[Person]]] = field(default_factory=dict)

    def at(self, image: Image) -> list[Person]:
        """Who is where in a picture of this world."""
        return self.log[id(image)][1]

    def picture(self) -> Image:
        self.tick += 1
        image = np.full((self.height, self.width, 3), 90, np.uint8)
        image[::8, :: 1 + self.tick % 7] = 110
        for person in self.people:
            if person.there:
                person.paint(image)
        # The picture is kept, so that no other one can get its id.
        self.log[id(image)] = (image, [replace(one) for one in self.people if one.there])
        return image


def shows(output: Image, image: Image, person: Person) -> bool:
    """Does `output` show the face that `image` shows there? By correlation and by difference."""
    x0, y0, x1, y1 = person.box
    w, h = x1 - x0, y1 - y0
    left, right = max(round(x0 + w * 0.15), 0), min(round(x1 - w * 0.15), image.shape[1])
    top, bottom = max(round(y0 + h * 0.15), 0), min(round(y1 - h * 0.15), image.shape[0])
    if right - left < 4 or bottom - top < 4 or output.shape != image.shape:
        return False
    seen, true = output[top:bottom, left:right], image[top:bottom, left:right]
    if cv2.norm(seen, true, cv2.NORM_L1) < 6 * seen.size:
        return True
    a, b = seen.astype(np.float32).ravel(), true.astype(np.float32).ravel()
    a, b = a - a.mean(), b - b.mean()
    return bool(a @ b > 0.6 * np.sqrt((a @ a) * (b @ b)) and a @ a > 0)


@dataclass
class Script:
    """What goes wrong next; set by the test, read by the parts."""

    blind: bool = False  # the detector and the landmarks find nothing
    lazy: bool = False  # the detector does not look
    track_raises: bool = False
    swap_raises: bool = False
    swap_none: bool = False
    swap_empty: bool = False  # an empty mask
    swap_identity: bool = False  # gives the input back
    swap_nan: bool = False  # landmarks of the face are NaN
    mark_raises: bool = False
    slow_s: float = 0.0
    hang: threading.Event | None = None
    sleep: Callable[[float], None] = time.sleep

    def clear(self) -> None:
        for name, default in Script.__dataclass_fields__.items():
            if name != "sleep":
                setattr(self, name, default.default)


class ScriptedTracker:
    def __init__(self, world: World, script: Script) -> None:
        self.world, self.script = world, script
        self.quality: Quality = LADDER[0]
        self.looked = False
        self.doubtful: tuple = ()
        self._count = 0
        self._known: set[int] = set()

    def reset(self) -> None:
        self._known.clear()
        self._count = 0

    def update(self, frame: Frame) -> tuple[Face, ...]:
        self.looked, self.doubtful = False, ()
        if self.script.track_raises:
            raise RuntimeError("scripted")
        due = self._count % max(self.quality.detect_every, 1) == 0 or not self._known
        self._count += 1
        here = {person.id: person for person in self.world.at(frame.image)}
        self._known &= here.keys()
        if self.script.blind:
            self._known.clear()
            self.looked = due and not self.script.lazy
            return ()
        self.looked = (due or not self._known) and not self.script.lazy
        if self.looked:
            self._known |= here.keys()
        faces = tuple(here[key].face for key in sorted(self._known))
        if self.script.swap_nan:
            faces = tuple(Face(one.id, one.landmarks * np.float32("nan"), 0.9) for one in faces)
        return faces


class ScriptedSwap:
    def __init__(self, script: Script) -> None:
        self.script = script

    def patch(self, image: Image, face: Face, strength: float) -> Patch | None:
        script = self.script
        if script.hang is not None:
            script.hang.wait()
        if script.slow_s:
            script.sleep(script.slow_s)
        if script.swap_raises:
            raise ValueError("scripted")
        if script.swap_none:
            return None
        x0, y0, x1, y1 = face.box
        left, top = int(np.floor(x0)) - 1, int(np.floor(y0)) - 1
        width, height = int(x1 - x0) + 4, int(y1 - y0) + 4
        made = np.empty((height, width, 3), np.uint8)
        made[:] = (20, 220, 30)
        made[::3] = (200, 20, 220)
        mask = np.full((height, width), 0 if script.swap_empty else 255, np.uint8)
        if script.swap_identity:
            padded = np.pad(image, ((200, 200), (200, 200), (0, 0)))
            made = padded[top + 200 : top + 200 + height, left + 200 : left + 200 + width].copy()
        return Patch.at(made, mask, left, top)


class ScriptedSwapper:
    name = "scripted"

    def __init__(self, script: Script) -> None:
        self.script = script

    def prepare(self, photos: object) -> object:
        return object()

    def follow(self, identity: object) -> ScriptedSwap:
        return ScriptedSwap(self.script)


class ScriptedMarker:
    """Paints the first pixel, so that tests see whether a picture was marked."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def apply(self, image: Image) -> None:
        if self.script.mark_raises:
            raise RuntimeError("scripted")
        image[0, 0] = (1, 2, 3)


class WorldSource:
    """A camera that looks at the world; faults on command."""

    def __init__(
        self,
        world: World,
        *,
        fps: float = 100.0,
        live: bool = True,
        frames: int | None = None,
        now: Callable[[], int] = time.monotonic_ns,
        wait: Callable[[float], None] | None = None,
    ) -> None:
        self.world, self.fps, self.live, self.frames, self.now = world, fps, live, frames, now
        self.unplugged = self.frozen = self.corrupt = self.hang = self.hang_hard = False
        self.refuse_open = False
        self._closed = threading.Event()
        self._wait = wait or (lambda seconds: void(self._closed.wait(seconds)))
        self._count = 0
        self._last: Image | None = None
        self.sent: dict[int, tuple[Image, list[Person]]] = {}

    def open(self) -> SourceInfo:
        if self.unplugged or self.refuse_open:
            raise DeviceError("The scripted camera is unplugged")
        self._closed.clear()
        return SourceInfo("scripted", self.world.width, self.world.height, self.fps, self.live, self.frames)

    def read(self) -> Frame | None:
        if self.hang_hard:
            threading.Event().wait(30)
        while self.hang and not self._closed.is_set():
            self._wait(0.01)
        if self.live:
            self._wait(1 / self.fps)
        if self.unplugged:
            raise DeviceError("The scripted camera was unplugged")
        if self._closed.is_set() or (self.frames is not None and self._count >= self.frames):
            return None
        image = self._last if self.frozen and self._last is not None else self.world.picture()
        self._last = image
        if self.corrupt:
            image = np.zeros((0, 3), np.uint8)
        self._count += 1
        pts = None if self.live else (self._count - 1) / self.fps
        return Frame(self._count - 1, self.now(), image, pts)

    def close(self) -> None:
        self._closed.set()


def void(_: object) -> None:
    """Throw a value away."""


class CheckingSink:
    """Checks every picture that leaves."""

    def __init__(self, world: World, name: str = "check", *, keep: int = 100000) -> None:
        self.world, self.name, self.keep = world, name, keep
        self.outputs: list[Output] = []
        self.problems: list[str] = []
        self.opened = self.closed = 0
        self.raises: Exception | None = None
        self.hang: threading.Event | None = None
        self.slow_s = 0.0
        self.stream: StreamInfo | None = None

    def open(self, stream: StreamInfo) -> None:
        self.opened += 1
        self.stream = stream

    def write(self, output: Output) -> None:
        if self.hang is not None:
            self.hang.wait()
        if self.slow_s:
            time.sleep(self.slow_s)
        if self.raises is not None:
            raise self.raises
        if self.outputs and output.frame.captured_ns < self.outputs[-1].frame.captured_ns:
            self.problems.append("out of order")
        if output.image is output.frame.image and output.reason == "":
            self.problems.append("the input itself left")
        self.outputs.append(output)
        del self.outputs[: -self.keep]

    def close(self) -> None:
        self.closed += 1


def pipeline_parts(world: World, script: Script) -> tuple[ScriptedTracker, ScriptedSwapper, ScriptedMarker]:
    return ScriptedTracker(world, script), ScriptedSwapper(script), ScriptedMarker(script)
