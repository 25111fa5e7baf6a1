"""Every swapper and enhancer of the catalogue, by its contract, against arithmetic written out here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from engine.align import alignment, five_points
from engine.catalog import open_store
from engine.catalog.entry import Contract, Kind, SourceInput, read_catalogue
from engine.catalog.store import Store
from engine.config import NeuralConfig
from engine.errors import ModelError
from engine.guard.proof import replaced
from engine.quality import Quality
from engine.swap.mesh import MeshSwapper
from engine.swap.neural.boost import interleave, tiles
from engine.swap.neural.opening import open_neural
from engine.types import Face, Image
from models import CATALOGUE
from tests.unit.neural import graphs
from tests.unit.swap.faces import landmarks, photo, picture

ENTRIES = read_catalogue(CATALOGUE)
SWAPPERS = [name for name, entry in ENTRIES.items() if entry.kind is Kind.SWAPPER]
ENHANCERS = [name for name, entry in ENTRIES.items() if entry.kind is Kind.ENHANCER]
FACE = Face(0, landmarks(), 1.0)


def store_with(folder: Path, names: Iterable[str]) -> Store:
    store = open_store(folder / "home", trial=lambda _: None)
    for name in names:
        entry = store.entry(name)
        if store.installed(name) is None:
            store.accept(name)
            store.add(name, graphs.of_kind(folder / entry.file, entry.kind, entry.contract), trust=True)
    return store


def opened(tmp_path: Path, name: str, **config: Any) -> Any:
    extra = [value for value in config.values() if isinstance(value, str)]
    store = store_with(tmp_path, [name, *ENTRIES[name].needs, *extra])
    return open_neural(name, store, tmp_path / "e", MeshSwapper(), config=NeuralConfig(**config))


def crop_of(image: Image, contract: Contract, template: str, size: int, points: np.ndarray) -> np.ndarray:
    return cv2.warpAffine(image, alignment(points, template, size), (size, size))


def expected_push(contract: Contract) -> float:
    """What the source must come to, computed from the published loaders' rules."""
    source = photo()
    points = five_points(source.face.landmarks)
    if contract.source is SourceInput.PICTURE:
        crop = crop_of(source.image, contract, contract.source_template, contract.source_size, points)
        rgb = crop[..., ::-1].astype(np.float64).reshape(-1, 3).mean(0) / 255
        number = ((rgb - contract.mean) / contract.std) @ [1, 2, 4]
        return float(np.tanh(number))
    crop = crop_of(source.image, contract, "arcface_112", 112, points)[..., ::-1].astype(np.float64)
    quarters = [crop[y : y + 56, x : x + 56].mean((0, 1)) / 127.5 - 1 for y in (0, 56) for x in (0, 56)]
    spread = np.random.default_rng(2).normal(size=(12, 512))
    embedding = np.stack(quarters).T.reshape(-1) @ spread
    unit = embedding / np.linalg.norm(embedding)
    vector = {
        SourceInput.UNIT: unit,
        SourceInput.EMAP: unit @ graphs.emap() / np.linalg.norm(unit @ graphs.emap()),
        SourceInput.CONVERTED_RAW: embedding[::-1] * 3,
        SourceInput.CONVERTED_UNIT: unit[::-1],
    }[contract.source]
    return float(np.tanh(vector @ graphs.weights(512)))


@pytest.mark.parametrize("name", SWAPPERS)
def test_a_swapper_speaks_its_contract(tmp_path: Path, name: str) -> None:
    swapper, contract = opened(tmp_path, name), ENTRIES[name].contract
    frame = picture(FACE.landmarks, skin=(90, 140, 200), seed=3)
    patch = swapper.follow(swapper.prepare([photo()])).patch(frame, FACE, 0.8)
    assert swapper.runs_on != "mesh"
    assert patch is not None and patch.image.shape == (contract.size, contract.size, 3)
    crop = crop_of(frame, contract, contract.template, contract.size, five_points(FACE.landmarks))
    wanted = np.clip(crop * 0.5 + 255 * (0.25 + 0.2 * expected_push(contract)), 0, 255)
    assert np.abs(patch.image - wanted).max() < 2.5  # a bf16 processor may round
    assert replaced(frame, FACE, patch)


def test_every_family_of_the_design_is_there() -> None:
    for part in ("inswapper", "hyperswap", "simswap", "ghost", "hififace", "uniface", "blendswap"):
        assert any(part in name for name in SWAPPERS)
    for part in ("gfpgan", "codeformer", "restoreformer", "gpen"):
        assert any(part in name for name in ENHANCERS)


@pytest.mark.parametrize("factor", [1, 2, 3, 4])
def test_tiles_and_back(factor: int) -> None:
    crop = np.random.default_rng(0).integers(0, 256, (12 * factor, 12 * factor, 3), np.uint8)
    parts = list(tiles(crop, factor))
    assert len(parts) == factor**2
    assert np.array_equal(interleave(parts, factor), crop)


def test_boost_is_sharper_and_the_same_otherwise(tmp_path: Path) -> None:
    frame = picture(FACE.landmarks, seed=4)
    frame[::2] = np.clip(frame[::2].astype(int) + 40, 0, 255)  # detail that a small crop loses
    swapper = opened(tmp_path, "inswapper_128", boost=2)
    follow = swapper.follow(swapper.prepare([photo()]))
    large = follow.patch(frame, FACE, 0.8)
    assert large.image.shape == (256, 256, 3)
    follow.quality = Quality(grid=0.75)  # the controller asks for speed
    small = follow.patch(frame, FACE, 0.8)
    assert small.image.shape == (128, 128, 3)
    again = cv2.resize(large.image, (128, 128), interpolation=cv2.INTER_AREA).astype(int)
    blurred = [cv2.GaussianBlur(np.asarray(each, np.float32), (0, 0), 3) for each in (again, small.image)]
    assert np.abs(blurred[0] - blurred[1])[8:-8, 8:-8].max() < 6
    assert cv2.Laplacian(large.image, cv2.CV_32F).std() > cv2.Laplacian(small.image, cv2.CV_32F).std()


@pytest.mark.parametrize("name", ENHANCERS)
def test_an_enhancer_speaks_its_contract(tmp_path: Path, name: str) -> None:
    plain = opened(tmp_path / "a", "inswapper_128")
    swapper = opened(tmp_path / "b", "inswapper_128", enhancer=name, enhance_every=1)
    frame = picture(FACE.landmarks, seed=5)
    identity = plain.prepare([photo()])
    before = plain.follow(identity).patch(frame, FACE, 0.8)
    after = swapper.follow(identity).patch(frame, FACE, 0.8)
    contract = ENTRIES[name].contract
    assert after.image.shape == (contract.size, contract.size, 3)
    points = five_points(FACE.landmarks)
    wanted = alignment(points, "ffhq_512", 512)
    assert np.abs(cv2.invertAffineTransform(after.matrix) - wanted).max() < 1e-4
    # The same picture, in another crop, with the pattern on it.
    move = wanted[:, :2] @ before.matrix[:, :2]
    shift = wanted[:, :2] @ before.matrix[:, 2] + wanted[:, 2]
    moved = cv2.warpAffine(before.image, np.column_stack([move, shift]), (512, 512)).astype(int)
    middle = slice(200, 320)
    added = (after.image.astype(int) - moved)[middle, middle]
    checks = np.indices((512, 512)).sum(0)[middle, middle] % 2 * 2 - 1
    strength = float((added.mean(2) * checks).mean())
    full = 0.2 * 127.5 * 0.8  # of the pattern, in levels, and the share that is taken
    assert strength == pytest.approx(full * (0.7 if name == "codeformer" else 1), rel=0.1)
    assert replaced(frame, FACE, after)


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not an enhancer"):
        opened(tmp_path, "inswapper_128", enhancer="hyperswap_1a_256")


def test_an_enhancer_that_is_missing_is_named(tmp_path: Path) -> None:
    store = store_with(tmp_path, ["inswapper_128", "arcface_w600k_r50"])
    config = NeuralConfig(enhancer="gfpgan_1.4")
    with pytest.raises(ModelError, match=r"models get gfpgan_1\.4"):
        open_neural("inswapper_128", store, tmp_path, MeshSwapper(), config=config)
