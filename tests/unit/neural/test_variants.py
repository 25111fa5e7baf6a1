"""Versions in lower precision: kept with the emap, measured, refused when they are bad."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from skimage.data import astronaut

from engine.catalog import open_store
from engine.catalog.entry import Entry, read_catalogue
from engine.catalog.store import Store
from engine.catalog.write import to_toml
from engine.errors import InputError, ModelError
from engine.runtime.precision import psnr
from engine.swap import make_swapper
from engine.swap.neural.crops import feeds_from
from engine.swap.neural.latent import read_emap
from engine.swap.neural.variants import make_variant
from engine.types import Frame
from models import CATALOGUE

pytestmark = pytest.mark.shared


class Portrait:
    """Frames of a portrait that drifts through the picture."""

    def __init__(self, frames: int = 60) -> None:
        self.frames, self.number = frames, 0
        self.image = np.ascontiguousarray(astronaut()[..., ::-1])

    def open(self) -> None:
        self.number = 0

    def read(self) -> Frame | None:
        if self.number == self.frames:
            return None
        self.number += 1
        move = np.float64([[1, 0, self.number / 2], [0, 1, self.number / 3]])
        return Frame(
            self.number,
            0,
            np.asarray(cv2.warpAffine(self.image, move, (512, 512)), np.uint8),
            self.number / 30,
        )

    def close(self) -> None: ...


def feeds(store: Store, frames: int = 60) -> Callable[[Entry], Sequence[Any]]:
    made: Callable[[Entry], Sequence[Any]] = feeds_from(store, Portrait(frames))  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_a_version_keeps_the_emap_and_has_its_own_hash(
    store: Store, standins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    home = tmp_path / "home"
    made = make_variant(store, "inswapper_128", precision, feeds(store), home / "catalogue")
    assert made.psnr >= 40 and made.crops == 6
    original = store.installed("inswapper_128")
    assert original is not None and made.installed.sha256 != original.sha256
    emap = read_emap(standins / "inswapper_128.onnx")
    assert np.array_equal(read_emap(made.installed.path), emap)
    last = onnx.load(str(made.installed.path)).graph.initializer[-1]
    assert np.array_equal(numpy_helper.to_array(last), emap)  # where InsightFace looks for it

    again = open_store(home)
    name = f"inswapper_128-{precision}"
    assert again.verify(name).sha256 == made.installed.sha256
    assert again.entry(name).exact == "inswapper_128"
    monkeypatch.setenv("KAWARI_HOME", str(home))
    assert make_swapper(name).name == name


def test_a_bad_version_is_refused_and_nothing_is_kept(store: Store, tmp_path: Path) -> None:
    before = sorted(path.name for path in store.folder.iterdir())
    with pytest.raises(ModelError, match=r"dB where 98 dB"):
        make_variant(store, "inswapper_128", "int8", feeds(store), tmp_path / "catalogue", 98)
    assert sorted(path.name for path in store.folder.iterdir()) == before
    assert not (tmp_path / "catalogue").exists()


def test_without_faces_nobody_can_judge(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Too few faces"):
        make_variant(store, "inswapper_128", "fp16", feeds(store, 3), tmp_path)


def test_only_pictures_can_be_compared(store: Store, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no swapper or enhancer"):
        make_variant(store, "arcface_w600k_r50", "fp16", feeds(store), tmp_path)


def test_psnr() -> None:
    one = np.zeros((4, 4), np.float32)
    assert psnr(one, one, 1) == 99
    assert psnr(one, one + 0.1, 1) == pytest.approx(20, abs=1e-4)
    assert psnr(one, one + 0.1, 2) == pytest.approx(26.02, abs=0.01)


def test_entries_survive_being_written(tmp_path: Path) -> None:
    for entry in read_catalogue(CATALOGUE).values():
        odd = replace(entry, title='"quoted" \\ ü 顔')
        (tmp_path / "one.toml").write_text(to_toml(odd), encoding="utf-8")
        assert read_catalogue(tmp_path / "one.toml") == {odd.name: odd}
