"""The known faults of pasted textures: fringe over the brows, side light, coloured light."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np

from engine.identity.photo import SourcePhoto
from engine.swap.mesh.atlas import build_atlas
from engine.swap.mesh.regions import atlas_points
from engine.swap.mesh.unwrap import SIZE
from tests.unit.swap.faces import photo

FOREHEAD = (10, 151, 9)
"""From the top of the forehead down the middle to between the brows."""
CHEEKS = (50, 280)


def repainted(source: SourcePhoto, image: np.ndarray) -> SourcePhoto:
    return replace(source, image=np.clip(image, 0, 255).astype(np.uint8))


def at(plane: np.ndarray, landmark: int) -> np.ndarray:
    x, y = atlas_points(SIZE)[landmark].round().astype(int)
    return plane[y - 2 : y + 3, x - 2 : x + 3].mean((0, 1))


def test_fringe_is_neither_shown_nor_left_in_the_texture() -> None:
    bare = photo()
    top, line = bare.face.landmarks[10, 1], bare.face.landmarks[151, 1]
    image = bare.image.copy()
    rng = np.random.default_rng(1)
    rows = slice(int(top) - 20, int(line) + 8)
    streaks = rng.integers(10, 60, (1, image.shape[1], 1)).repeat(rows.stop - rows.start, 0)
    image[rows] = cv2.blur(streaks.astype(np.uint8), (2, 2))[..., None]
    atlas = build_atlas([repainted(bare, image)])
    assert at(atlas.alpha, 151) < 0.2
    assert at(atlas.alpha, 5) > 0.9
    assert np.abs(at(atlas.texture, 151) - at(atlas.texture, 5)).max() < 25


def test_side_light_leaves_no_step_at_the_nose() -> None:
    lit = photo()
    nose = int(lit.face.landmarks[1, 0])
    image = lit.image.astype(np.float32)
    image[:, nose:] *= 0.45
    atlas = build_atlas([repainted(lit, image)])
    left, right = (at(atlas.texture, cheek) for cheek in CHEEKS)
    assert np.abs(left - right).max() < 0.1 * left.max()


def test_coloured_light_on_one_side_is_drawn_towards_the_face_s_own_tint() -> None:
    lit = photo()
    nose = int(lit.face.landmarks[1, 0])
    image = lit.image.astype(np.float32)
    image[:, nose:] *= (1.5, 1.0, 0.8)
    atlas = build_atlas([repainted(lit, image)])
    ratios = [texture[0] / texture[2] for texture in (at(atlas.texture, cheek) for cheek in CHEEKS)]
    assert max(ratios) / min(ratios) < 1.4 < 1.5 / 0.8


def test_identity_of_an_even_photo_is_its_own_colour() -> None:
    atlas = build_atlas([photo(skin=(90, 110, 160))])
    for landmark in CHEEKS:
        np.testing.assert_allclose(at(atlas.texture, landmark), (90, 110, 160), atol=3)
        assert at(atlas.alpha, landmark) > 0.9
