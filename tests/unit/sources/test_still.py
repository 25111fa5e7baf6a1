from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image as PillowImage

from engine.errors import InputError
from engine.sources.still import StillSource, is_still
from tests.make_clip import colour_bars, moving, write_clip


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "p.png"
    PillowImage.fromarray(colour_bars()[..., ::-1]).save(path)
    return path


def test_once(picture: Path) -> None:
    source = StillSource(picture)
    info = source.open()
    assert (info.width, info.height, info.live, info.frames) == (448, 64, False, 1)
    frame = source.read()
    assert frame is not None
    assert np.array_equal(frame.image, colour_bars())
    assert source.read() is None
    source.close()


def test_as_a_camera(picture: Path) -> None:
    source = StillSource(picture, fps=200)
    assert source.open().live
    assert [f.id for f in (source.read(), source.read(), source.read()) if f] == [0, 1, 2]
    source.close()
    assert source.read() is None


def test_broken(tmp_path: Path) -> None:
    path = tmp_path / "t.jpg"
    path.write_text("text")
    with pytest.raises(InputError):
        StillSource(path).open()


def test_what_is_a_still(tmp_path: Path, picture: Path) -> None:
    frames = [PillowImage.fromarray(f) for f in moving(3)]
    for name in ("a.gif", "a.webp", "a.png"):
        frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:], duration=50)
        assert not is_still(tmp_path / name)
    for name in ("s.gif", "s.webp", "s.jpg", "s.tiff", "s.mp4.png"):
        frames[0].save(tmp_path / name)
        assert is_still(tmp_path / name)
    picture.rename(tmp_path / "named.mp4")
    assert is_still(tmp_path / "named.mp4")
    assert not is_still(write_clip(tmp_path / "c.mp4", moving(2)))
    assert not is_still(tmp_path / "missing.png")
