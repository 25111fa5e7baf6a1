"""Device code: every function against its host twin, and the overlap of frames.

The same tests run on CuPy where there is a GPU: `pytest -m gpu`.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import cv2
import numpy as np
import pytest

from engine.align import alignment
from engine.blend.paste import paste
from engine.catalog.entry import read_catalogue
from engine.runtime import kernels
from engine.runtime.device import CudaDevice, Device, HostDevice
from engine.runtime.overlapped import DEPTH, Crossing, Overlapped
from engine.swap.neural.boost import tiles
from engine.swap.neural.colour import match_colour
from engine.swap.neural.mask import box_mask
from engine.swap.neural.tensors import PictureInput, PictureOutput
from engine.types import Image, Patch
from models import CATALOGUE
from tests.unit.runtime.simulated import SimulatedDevice

CONTRACTS = {name: entry.contract for name, entry in read_catalogue(CATALOGUE).items()}
POINTS = np.float32([[290, 200], [352, 205], [320, 240], [296, 275], [345, 279]])


@pytest.fixture(params=["host", "simulated", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    made: dict[str, Any] = {"host": HostDevice, "simulated": SimulatedDevice, "cuda": CudaDevice}
    return made[request.param]()


def to_host(array: Any) -> np.ndarray:
    return np.array(array.get() if hasattr(array, "get") else array.view(np.ndarray))


def smooth(height: int = 480, width: int = 640, seed: int = 0) -> Image:
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return np.asarray(cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 4), None, 0, 255, cv2.NORM_MINMAX))


@pytest.mark.parametrize("shift", [0.0, 250.0, -250.0])  # in the middle, and cut off by the edge
def test_crop(device: Device, shift: float) -> None:
    frame, xp = smooth(), device.xp
    matrix = alignment(POINTS + np.float32(shift), "arcface", 128)
    ours = to_host(kernels.crop(xp, device.keep(frame), matrix, 128))
    twin = cv2.warpAffine(frame, matrix, (128, 128))
    # OpenCV rounds the source's position to 1/32 px and the result to whole levels.
    assert np.abs(ours - twin).max() <= 4
    assert np.abs(ours - twin).mean() < 0.4


@pytest.mark.parametrize("name", ["inswapper_128", "simswap_256", "hyperswap_1a_256", "xseg_1"])
def test_into_and_out_of_the_network(device: Device, name: str) -> None:
    contract, xp = CONTRACTS[name], device.xp
    crop = smooth(contract.size, contract.size)
    twin = PictureInput(contract, contract.size)(crop)
    blob = device.empty(twin.shape, np.float32)
    kernels.normalise(device.keep(crop.astype(np.float32)), contract, blob[0])
    assert np.abs(to_host(blob) - twin).max() < 1e-5
    random = np.random.default_rng(1)
    output = ((random.random(twin.shape) * 1.2 - 0.1 - contract.out_mean) / contract.out_std).astype(
        np.float32
    )
    made, sound = kernels.picture(xp, device.keep(output[0]), contract)
    assert to_host(sound)
    assert np.abs(to_host(made) - PictureOutput(contract)(output)).max() <= 0.51


@pytest.mark.parametrize("broken", [np.nan, np.inf, 0.0])
def test_what_is_no_picture_is_told(device: Device, broken: float) -> None:
    output = np.zeros((3, 8, 8), np.float32)
    output[1, 2, 3] = broken
    made, sound = kernels.picture(device.xp, device.keep(output), CONTRACTS["inswapper_128"])
    assert not to_host(sound)
    assert not to_host(made).any()


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_tiles_and_back(device: Device, factor: int) -> None:
    crop = smooth(12 * factor, 12 * factor)
    parts = kernels.tiles(device.keep(crop), factor)
    for ours, twin in zip(parts, tiles(crop, factor), strict=True):
        assert np.array_equal(to_host(ours), twin)
    assert np.array_equal(to_host(kernels.interleave(device.xp, parts, factor)), crop)


def test_colour(device: Device) -> None:
    made, wanted, xp = smooth(96, 96, 1), smooth(96, 96, 2), device.xp
    wanted = np.asarray(wanted * np.float32([0.6, 0.8, 0.9]) + 20, np.uint8)
    mask = np.where(box_mask(96) > 127, 255, 0).astype(np.uint8)
    arrays = (device.keep(each.astype(np.float32)) for each in (made, wanted))
    ours = to_host(kernels.match_colour(xp, *arrays, device.keep(mask.astype(np.float32) / 255)))
    assert np.abs(ours - match_colour(made, wanted, mask)).max() <= 1
    solid = mask > 0
    assert np.abs(ours[solid].mean(0) - wanted[solid].mean(0)).max() < 1


@pytest.mark.parametrize("shift", [0.0, 250.0, -250.0, 9000.0])
def test_paste(device: Device, shift: float) -> None:
    frame, made, mask, xp = smooth(), smooth(128, 128, 3), box_mask(128), device.xp
    back = cv2.invertAffineTransform(alignment(POINTS + np.float32(shift), "arcface", 128))
    ours = device.keep(frame)
    kernels.paste(
        xp, ours, device.keep(made.astype(np.float32)), device.keep(mask.astype(np.float32) / 255), back
    )
    twin = frame.copy()
    paste(twin, Patch(made, mask, back))
    difference = np.abs(to_host(ours).astype(int) - twin)
    assert difference.max() <= 4
    assert difference.mean() < 0.3
    reach = cv2.warpAffine((mask > 0).astype(np.float32), back, (640, 480)) == 0
    assert np.array_equal(to_host(ours)[reach], frame[reach])


def test_frames_come_back_in_order_with_one_copy_each_way(device: Device) -> None:
    images = [smooth(48, 64, seed) for seed in range(9)]
    overlapped = Overlapped(device)

    def invert(frame: Any, notes: Any) -> None:
        frame[...] = 255 - frame
        notes[1] = frame[0, 0, 0]

    under_way, found = deque[Crossing](), []
    for image in images:
        under_way.append(overlapped.submit(image, invert))
        if len(under_way) == DEPTH:
            found.append(under_way.popleft().result())
    found += [one.result() for one in under_way]
    for (result, notes), image in zip(found, images, strict=True):
        assert np.array_equal(result, 255 - image)
        assert notes[1] == result[0, 0, 0]
        assert notes.sum() == notes[1]  # the others are 0, whatever was in the buffer
    assert device.uploads == device.downloads == 9
    larger = smooth(64, 80)
    assert np.array_equal(overlapped.submit(larger, invert).result()[0], 255 - larger)


def test_buffers_are_made_once_for_each_frame_under_way() -> None:
    device = HostDevice()
    made: list[int] = []
    device.pinned = lambda size: made.append(size) or np.empty(size, np.uint8)  # type: ignore[method-assign]
    overlapped, image = Overlapped(device), np.zeros((4, 4, 3), np.uint8)
    for _ in range(20):
        first = overlapped.submit(image, lambda frame, notes: None)
        second = overlapped.submit(image, lambda frame, notes: None)
        first.result(), second.result()
    assert len(made) == 4
