"""Neural swaps of frames that lie on a device: crop, network, colour and paste on its compute stream."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.align import alignment, target_points
from engine.catalog.entry import Contract
from engine.errors import ModelError
from engine.runtime import kernels
from engine.runtime.device import Array, Device
from engine.runtime.network import Network
from engine.runtime.overlapped import NOTES, Crossing, Overlapped
from engine.swap.neural.mask import box_mask
from engine.swap.neural.swapper import FLAT
from engine.types import Image, Mask, Matrix, Points

_SOURCES = 16
"""Source persons kept on the device."""
_NEAR = 2.0
"""Levels, the mean over a picture, by which host and device may differ: networks answer to the crop's
rounding, in half precision more so."""
_TRIAL = 160
"""Side of the frames that are compared."""


class Outcome(enum.IntEnum):
    """What became of a face on the device, as the notes behind the frame say it."""

    UNSEEN = 0
    """The crop shows no face."""
    SWAPPED = 1
    UNSOUND = 2
    """The network gave no picture."""


@dataclass(frozen=True, slots=True)
class Aimed:
    """A face to swap on the device.

    Attributes:
        matrix: from frame pixels to the crop's.
        source: the network's source input, (1, …).
        boost: see `engine.swap.neural.boost`.
    """

    matrix: Matrix
    source: NDArray[np.float32]
    boost: int = 1


class DeviceFrame:
    """A frame under way on the device."""

    def __init__(self, crossing: Crossing, count: int) -> None:
        self._crossing = crossing
        self._count = count

    @property
    def ready(self) -> bool:
        """True once `result` need not wait."""
        return self._crossing.ready

    def result(self) -> tuple[Image, list[Outcome]]:
        """The frame, and what became of each face; see `Crossing.result`."""
        image, notes = self._crossing.result()
        return image, [Outcome(int(note)) for note in notes[: self._count]]


@dataclass(slots=True)
class _Run:
    """A network's inputs and output on the device for one number of pictures."""

    target: Array
    source: Array
    output: Array
    queue: Callable[[], None]


class DeviceSwap:
    """Swaps faces in frames that cross to a device once and back once.

    Args:
        device: where it happens; the network runs on its compute stream.
        network: with its inputs named target and source.
        contract: its contract.
        target, source: names of its inputs.
        together: how many pictures the network takes in one run.
        match_colour: give the crop the target's mean and spread of colour.
    """

    def __init__(
        self,
        device: Device,
        network: Network,
        contract: Contract,
        target: str,
        source: str,
        *,
        together: int = 1,
        match_colour: bool = False,
    ) -> None:
        self.device = device
        self.network = network
        self._contract = contract
        self._names = (target, source)
        self._match = match_colour
        self._together = together
        self._overlapped = Overlapped(device)
        self._runs: dict[int, _Run] = {}
        self._masks: dict[int, Array] = {}
        self._sources: dict[int, tuple[NDArray[np.float32], Array]] = {}

    def aim(self, points: Points, source: NDArray[np.float32], boost: int = 1) -> Aimed:
        """The face at five points, float32 (5, 2), see `engine.align`."""
        contract = self._contract
        return Aimed(alignment(points, contract.template, contract.size * boost), source, boost)

    def mask(self, face: Aimed) -> Mask:
        """The mask of a face's crop."""
        return box_mask(self._contract.size * face.boost)

    def begin(self, image: Image, faces: Sequence[Aimed]) -> DeviceFrame:
        """Queue a frame.

        Args:
            image: uint8, H×W×3, BGR; not needed any more when this returns.
            faces: at most `NOTES`.

        Raises:
            Exception: whatever the device or the provider raises.
        """
        faces = faces[:NOTES]
        crossing = self._overlapped.submit(image, lambda frame, notes: self._swap(frame, notes, faces))
        return DeviceFrame(crossing, len(faces))

    @property
    def source_shape(self) -> tuple[int, ...]:
        """Of the network's source input for one face."""
        source = next(each for each in self.network.get_inputs() if each.name == self._names[1])
        return (1, *source.shape[1:])

    def _swap(self, frame: Array, notes: Array, faces: Sequence[Aimed]) -> None:
        xp, size = self.device.xp, self._contract.size
        crops = [kernels.crop(xp, frame, face.matrix, size * face.boost) for face in faces]
        asked = [
            (tile, face.source)
            for crop, face in zip(crops, faces, strict=True)
            for tile in kernels.tiles(crop, face.boost)
        ]
        answers = iter(self._answers(asked))
        for index, (crop, face) in enumerate(zip(crops, faces, strict=True)):
            tiles = [next(answers) for _ in range(face.boost**2)]
            made = kernels.interleave(xp, [picture for picture, _ in tiles], face.boost)
            sound = tiles[0][1]
            for _, other in tiles[1:]:
                sound = sound & other
            seen = xp.rint(crop.max()) - xp.rint(crop.min()) >= FLAT
            mask = self._mask_there(size * face.boost)
            if self._match:
                made = kernels.match_colour(xp, made, crop, mask)
            # A face that can't be swapped keeps its pixels: the host sees that, and decides.
            kernels.paste(xp, frame, made, mask * (seen & sound), kernels.inverse(face.matrix))
            outcome = xp.where(sound, int(Outcome.SWAPPED), int(Outcome.UNSOUND))
            notes[index] = xp.where(seen, outcome, int(Outcome.UNSEEN))

    def _answers(self, asked: Sequence[tuple[Array, NDArray[np.float32]]]) -> list[tuple[Array, Array]]:
        """The network's pictures, and whether they are any, in as few runs as it allows."""
        xp, contract = self.device.xp, self._contract
        answers = []
        for first in range(0, len(asked), self._together):
            part = asked[first : first + self._together]
            run = self._run(len(part), part[0][1].shape[1:])
            for index, (picture, source) in enumerate(part):
                kernels.normalise(picture, contract, run.target[index])
                run.source[index] = self._source_there(source)[0]
            run.queue()
            answers += [kernels.picture(xp, run.output[index], contract) for index in range(len(part))]
        return answers

    def _run(self, count: int, source_shape: tuple[int, ...]) -> _Run:
        if count not in self._runs:
            device, network, contract, size = self.device, self.network, self._contract, self._contract.size
            shape = (count, 3, size, size) if contract.layout == "nchw" else (count, size, size, 3)
            types = network.types
            target = device.empty(shape, types[self._names[0]])
            source = device.empty((count, *source_shape), types[self._names[1]])
            output = device.empty(shape, types[network.get_outputs()[0].name])
            inputs = dict(zip(self._names, (target, source), strict=True))
            queue = network.on_device(inputs, output, device.address)
            self._runs[count] = _Run(target, source, output, queue)
        return self._runs[count]

    def _mask_there(self, size: int) -> Array:
        if size not in self._masks:
            self._masks[size] = self.device.keep(box_mask(size).astype(np.float32) / np.float32(255))
        return self._masks[size]

    def _source_there(self, source: NDArray[np.float32]) -> Array:
        kept = self._sources.get(id(source))
        if kept is None:
            if len(self._sources) == _SOURCES:
                self._sources.clear()
            # The host's array is kept beside it, so that no other one can get its id.
            kept = self._sources[id(source)] = (source, self.device.keep(source))
        return kept[1]


def check(swap: DeviceSwap, host: Callable[[Image, Points, NDArray[np.float32]], Image]) -> None:
    """Swap made-up frames on the device and on the host, and compare; also compiles what must be.

    Args:
        swap: to be checked.
        host: the frame with the face at five points swapped on the host.

    Raises:
        ModelError: the results differ.
        Exception: whatever the device or the provider raises.
    """
    random = np.random.default_rng(0)
    shape = swap.source_shape
    source = random.normal(0, 1 / np.sqrt(shape[-1]), shape).astype(np.float32)
    template = target_points("arcface_112", _TRIAL // 2) + _TRIAL // 4
    points = [(template + random.uniform(-4, 4, (5, 2))).astype(np.float32) for _ in range(3)]
    noise = random.integers(0, 256, (len(points), _TRIAL, _TRIAL, 3), np.uint8)
    images = [np.asarray(cv2.GaussianBlur(each, (0, 0), 3), np.uint8) for each in noise]
    frames = [
        swap.begin(image, [swap.aim(where, source)]) for image, where in zip(images, points, strict=True)
    ]
    for image, where, frame in zip(images, points, frames, strict=True):
        made, outcomes = frame.result()
        twin = host(image, where, source)
        difference = float(cv2.norm(made, twin, cv2.NORM_L1)) / made.size
        if outcomes != [Outcome.SWAPPED] or difference > _NEAR or np.array_equal(made, image):
            raise ModelError(f"{swap.device.name} swaps otherwise than the host")
