"""The quality bench from end to end, on few frames: with the null swapper it must measure its own zero."""

from __future__ import annotations

from pathlib import Path

import cv2
import pytest

from app.bench.identity import IdentityNetwork
from app.bench.looking import Observer
from app.bench.material import CLIPS, IDENTITY_MODEL, PEOPLE
from app.bench.people import know
from app.bench.quality import ClipResult, Options, QualityBench
from app.bench.subject import Subject, product
from app.bench.verdict import summarise
from engine.swap.base import Swapper

pytestmark = pytest.mark.shared
FRAMES = 8


def look(data: Path, subject: Subject, sheet: Path | None = None) -> list[ClipResult]:
    observer = Observer(IdentityNetwork(data / "models" / IDENTITY_MODEL))
    people = [know(one, subject.photo, observer, data) for one in PEOPLE if one.name in ("d18", "darkskin")]
    clips = [one for one in CLIPS if one.name in ("lp_d0_greenscreen", "lp_d18_expressions")]
    return QualityBench(subject, observer, Options(data, FRAMES, sheet=sheet)).run(
        clips, people, lambda text: None
    )


def test_the_null_swapper_measures_the_zero(shared: Path, tmp_path: Path) -> None:
    results = look(shared / "data", product("null"), tmp_path / "sheet.png")
    assert [one.frames for one in results] == [FRAMES, FRAMES]
    assert set(results[0].pairs) == {"d18", "darkskin"}
    assert set(results[1].pairs) == {"darkskin"}  # nobody is swapped for themselves
    for result in results:
        assert result.lost == 0
        assert result.detected >= FRAMES
        assert result.jitter is not None
        for figures in result.pairs.values():
            assert figures.swapped == FRAMES
            assert figures.nearer == 0
            assert figures.flicker == pytest.approx(1)
            assert figures.error is not None
            assert figures.error < 0.015  # what tracking and looking afresh differ by
    assert results[0].pairs["d18"].gap == pytest.approx(0, abs=1e-6)
    assert results[0].pairs["darkskin"].gap is None  # there is no other photo
    sheet = cv2.imread(str(tmp_path / "sheet-lp_d0_greenscreen.png"))
    assert sheet is not None
    assert sheet.shape == (3 * 240, 8 * 240, 3)
    report = summarise(results)
    assert not report.passed
    assert report.figures["nearer"] == 0


class Refusing:
    """Never gives a patch."""

    name = "refusing"

    def prepare(self, photos: object) -> None:
        pass

    def follow(self, identity: None) -> Refusing:
        return self

    def patch(self, image: object, face: object, strength: float) -> None:
        return None


def test_faces_without_a_patch_count_as_lost(shared: Path) -> None:
    usual = product("null")
    swapper: Swapper[None] = Refusing()
    results = look(shared / "data", Subject(usual.tracker, swapper, usual.photo, usual.paste))
    assert [one.lost for one in results] == [FRAMES, FRAMES]
    assert all(figures.swapped == 0 for one in results for figures in one.pairs.values())
    assert all(figures.error is None for one in results for figures in one.pairs.values())
