"""Device code: every function against its host twin, and the overlap of frames.

The same tests run on CuPy where there is a GPU: `pytest -m gpu`.
"""

from __future__ import annotations

import itertools
from typing import Any

import cv2
import numpy as np
import pytest

from engine.align import alignment
from engine.blend.paste import paste
from engine.catalog.entry import read_catalogue
from engine.runtime import kernels
from engine.runtime.device import CudaDevice, Device, HostDevice, Overlapped
from engine.swap.neural.colour import match_colour
from engine.swap.neural.mask import box_mask
from engine.swap.neural.on_device import DeviceSwap
from engine.swap.neural.swapper import NeuralIdentity, NeuralSwapper
from engine.swap.neural.tensors import PictureInput, PictureOutput
from engine.types import Face, Image, Patch
from models import CATALOGUE
from tests.unit.runtime.simulated import SimulatedDevice

CONTRACTS = {name: entry.contract for name, entry in read_catalogue(CATALOGUE).items()}
POINTS = np.float32([[290, 200], [352, 205], [320, 240], [296, 275], [345, 279]])


@pytest.fixture(params=["host", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    return HostDevice() if request.param == "host" else CudaDevice()


def to_host(array: Any) -> np.ndarray:
    return np.asarray(array.get() if hasattr(array, "get") else array)


def smooth(height: int = 480, width: int = 640, seed: int = 0) -> Image:
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return np.asarray(cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 4), None, 0, 255, cv2.NORM_MINMAX))


@pytest.mark.parametrize("shift", [0.0, 250.0, -250.0])  # in the middle, and cut off by the edge
def test_crop(device: Device, shift: float) -> None:
    frame, xp = smooth(), device.xp
    matrix = alignment(POINTS + np.float32(shift), "arcface", 128)
    ours = to_host(kernels.crop(xp, xp.asarray(frame), matrix, 128))
    twin = cv2.warpAffine(frame, matrix, (128, 128))
    # OpenCV rounds the source's position to 1/32 px and the result to whole levels.
    assert np.abs(ours - twin).max() <= 4
    assert np.abs(ours - twin).mean() < 0.4


@pytest.mark.parametrize("name", ["inswapper_128", "simswap_256", "hyperswap_1a_256", "xseg_1"])
def test_into_and_out_of_the_network(device: Device, name: str) -> None:
    contract, xp = CONTRACTS[name], device.xp
    crop = smooth(contract.size, contract.size)
    blob = kernels.normalise(xp, xp.asarray(crop), contract)
    twin = PictureInput(contract, contract.size)(crop)
    assert blob.shape == twin.shape
    assert np.abs(to_host(blob) - twin).max() < 1e-5
    random = np.random.default_rng(1)
    output = ((random.random(twin.shape) * 1.2 - 0.1 - contract.out_mean) / contract.out_std).astype(
        np.float32
    )
    made = to_host(kernels.picture(xp, xp.asarray(output), contract))
    assert np.abs(made - PictureOutput(contract)(output)).max() <= 0.51


def test_colour(device: Device) -> None:
    made, wanted, xp = smooth(96, 96, 1), smooth(96, 96, 2), device.xp
    wanted = np.asarray(wanted * np.float32([0.6, 0.8, 0.9]) + 20, np.uint8)
    mask = np.where(box_mask(96) > 127, 255, 0).astype(np.uint8)
    arrays = (xp.asarray(each.astype(np.float32)) for each in (made, wanted))
    ours = to_host(kernels.match_colour(xp, *arrays, xp.asarray(mask.astype(np.float32) / 255)))
    assert np.abs(ours - match_colour(made, wanted, mask)).max() <= 1
    solid = mask > 0
    assert np.abs(ours[solid].mean(0) - wanted[solid].mean(0)).max() < 1


@pytest.mark.parametrize("shift", [0.0, 250.0, -250.0, 9000.0])
def test_paste(device: Device, shift: float) -> None:
    frame, made, mask, xp = smooth(), smooth(128, 128, 3), box_mask(128), device.xp
    back = cv2.invertAffineTransform(alignment(POINTS + np.float32(shift), "arcface", 128))
    ours = xp.asarray(frame.copy())
    kernels.paste(
        xp, ours, xp.asarray(made.astype(np.float32)), xp.asarray(mask.astype(np.float32) / 255), back
    )
    twin = frame.copy()
    paste(twin, Patch(made, mask, back))
    difference = np.abs(to_host(ours).astype(int) - twin)
    assert difference.max() <= 4
    assert difference.mean() < 0.3
    reach = cv2.warpAffine((mask > 0).astype(np.float32), back, (640, 480)) == 0
    assert np.array_equal(to_host(ours)[reach], frame[reach])


def test_a_whole_swap(device: Device) -> None:
    contract, frame, xp = CONTRACTS["inswapper_128"], smooth(), device.xp

    class Negative:
        def run(self, names: object, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
            return [1 - feed["target"]]

    landmarks = np.zeros((478, 3), np.float32)
    landmarks[[468, 473, 4, 61, 291], :2] = POINTS
    swapper = NeuralSwapper("inswapper_128", contract, Negative())
    patch = swapper.follow(NeuralIdentity(np.ones((1, 512), np.float32))).patch(
        frame, Face(0, landmarks, 1), 1
    )
    assert patch is not None
    twin = frame.copy()
    paste(twin, patch)
    ours = xp.asarray(frame.copy())
    DeviceSwap(xp, contract, lambda blob: 1 - blob).swap(ours, POINTS)
    difference = np.abs(to_host(ours).astype(int) - twin)
    assert difference.max() <= 6
    assert difference.mean() < 0.3
    assert np.abs(twin.astype(int) - frame).max() > 60


def test_frames_come_back_in_order_with_one_copy_each_way(device: Device) -> None:
    images = [smooth(48, 64, seed) for seed in range(9)]
    overlapped = Overlapped(device, (48, 64, 3))

    def invert(frame: Any) -> None:
        frame[...] = 255 - frame

    found = []
    for number, image in enumerate(images):
        result = overlapped.submit(image, invert)
        assert (result is None) == (number < 3)
        if result is not None:
            found.append(result.copy())  # valid until the next call
    found += [result.copy() for result in overlapped.drain()]
    assert len(found) == 9
    for result, image in zip(found, images, strict=True):
        assert np.array_equal(result, 255 - image)
    assert device.uploads == device.downloads == 9


@pytest.mark.parametrize("costs", [*itertools.permutations((2.0, 5.0, 3.0)), (4.0, 4.0, 4.0)])
def test_a_frame_takes_as_long_as_its_longest_part(costs: tuple[float, float, float]) -> None:
    device = SimulatedDevice(*costs)
    overlapped, frames, image = Overlapped(device, (2, 2, 3)), 200, np.zeros((2, 2, 3), np.uint8)
    for _ in range(frames):
        overlapped.submit(image, lambda frame: None)
    list(overlapped.drain())
    ideal = max(costs) * frames
    assert ideal / device.host >= 0.95
    assert device.host >= ideal  # or the simulation lies
    assert device.uploads == device.downloads == frames


def test_without_slots_it_takes_the_sum() -> None:
    """The same simulation shows no overlap where there is none."""
    device = SimulatedDevice(2.0, 5.0, 3.0)
    overlapped = Overlapped(device, (2, 2, 3), depth=1)
    for _ in range(100):
        overlapped.submit(np.zeros((2, 2, 3), np.uint8), lambda frame: None)
    list(overlapped.drain())
    assert device.host == pytest.approx(1000)
