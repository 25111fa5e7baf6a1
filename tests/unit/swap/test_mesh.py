from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
import pytest

from engine.blend.paste import paste
from engine.errors import InputError, ModelError
from engine.quality import LADDER
from engine.swap import make_swapper
from engine.swap.mesh import MeshOptions, MeshSwapper
from engine.swap.mesh.topology import OVAL
from engine.track.topology import CANONICAL, LIPS_INNER
from engine.types import Face, Image, Points
from tests.unit.swap.faces import landmarks, photo, picture


def swapped(
    image: Image, points: Points, strength: float = 0.8, skin: tuple[int, int, int] = (90, 110, 160)
) -> Image:
    swapper = MeshSwapper()
    patch = swapper.follow(swapper.prepare([photo(skin)])).patch(image, Face(0, points, 1.0), strength)
    assert patch is not None
    out = image.copy()
    paste(out, patch)
    return out


def test_make_swapper_knows_mesh_and_names_it_for_unknown_ones() -> None:
    assert make_swapper("mesh").name == "mesh"
    with pytest.raises(ModelError, match="mesh") as caught:
        make_swapper("no-such-model")
    assert caught.value.exit_code == 5


def test_prepare_refuses_none_and_six_photos() -> None:
    with pytest.raises(InputError):
        MeshSwapper().prepare([])
    with pytest.raises(InputError):
        MeshSwapper().prepare([photo()] * 6)


def test_frame_is_untouched_where_the_mask_is_zero_and_input_is_not_written_to() -> None:
    points = landmarks()
    image = picture(points)
    before = image.copy()
    swapper = MeshSwapper()
    patch = swapper.follow(swapper.prepare([photo()])).patch(image, Face(0, points, 1.0), 0.8)
    assert patch is not None
    assert patch.origin is not None
    np.testing.assert_array_equal(image, before)
    out = image.copy()
    paste(out, patch)
    outside = np.ones(image.shape[:2], bool)
    x, y = patch.origin
    height, width = patch.mask.shape
    outside[y : y + height, x : x + width] = patch.mask == 0
    np.testing.assert_array_equal(out[outside], image[outside])
    assert outside.mean() > 0.5
    assert (out != image).any()


def test_source_takes_on_the_target_s_colour() -> None:
    points = landmarks()
    out = swapped(picture(points, skin=(120, 150, 200)), points, skin=(60, 80, 120))
    cheek = points[[50, 280, 205, 425], :2].round().astype(int)
    for x, y in cheek:
        assert np.abs(out[y, x].astype(int) - (120, 150, 200)).max() <= 6


def test_strength_moves_the_outline_towards_the_source_and_zero_leaves_it() -> None:
    wide = CANONICAL * (1.15, 1, 1)
    swapper = MeshSwapper()
    identity = swapper.prepare([photo(shape=wide)])
    points = landmarks()
    image = picture(points)
    middle = int(points[OVAL, 1].mean())

    def width(strength: float) -> int:
        patch = swapper.follow(identity).patch(image, Face(0, points, 1.0), strength)
        assert patch is not None
        out = image.copy()
        paste(out, patch)
        row = out[middle - 5 : middle + 5].astype(int)
        return int((np.abs(row - (120, 150, 200)).max(2) < 12).all(0).sum())

    assert width(1.0) > width(0.5) + 3 > width(0.0) + 6


def mouth_column(drop: float, colour: tuple[int, int, int]) -> Image:
    """The middle of a mouth opened by `drop` cm and filled with `colour`, from lip to lip, (n, 3)."""
    shape = CANONICAL.copy()
    shape[shape[:, 1] > shape[61, 1] + 0.05, 1] += drop
    points = landmarks(shape=shape)
    image = picture(points)
    mouth = cv2.convexHull(points[LIPS_INNER, :2]).reshape(-1, 2)
    cv2.fillPoly(image, [mouth.round().astype(np.int32)], colour)
    out = swapped(image, points, strength=0.0)
    x, top, bottom = points[13, 0], points[13, 1], points[14, 1]
    return out[round(float(top)) + 2 : round(float(bottom)) - 1, round(float(x))]


TEETH, TONGUE = (190, 205, 215), (70, 80, 200)


def test_teeth_stay_the_target_s() -> None:
    column = mouth_column(1.6, TEETH).astype(int)
    assert np.abs(column[1:-1] - TEETH).max() <= 4


def test_a_tongue_keeps_its_colour_and_is_shaded_at_the_lips() -> None:
    shade = mouth_column(2.5, TONGUE).astype(float) / TONGUE
    middle = shade[len(shade) // 2].mean()
    assert np.ptp(shade, axis=1).max() < 0.06
    assert middle > shade[0].mean() + 0.1 and middle > shade[-1].mean() + 0.1
    assert shade.min() > 0.5


def test_a_tongue_in_a_narrow_gap_is_darker_than_in_a_wide_one() -> None:
    assert mouth_column(0.5, TONGUE).max() < mouth_column(2.5, TONGUE).max() - 15


@pytest.mark.parametrize("detail", [1.0, 0.75, 0.5])
def test_a_gap_between_the_lips_narrower_than_a_cell_is_open_from_end_to_end(detail: float) -> None:
    shape = CANONICAL.copy()
    shape[LIPS_INNER[11:], 1] = shape[LIPS_INNER[9:0:-1], 1] + 0.1  # 2.6 pixels; cells have 5 to 10
    points = landmarks(width=400, shape=shape)
    image = picture(points)
    cv2.fillPoly(image, [(points[LIPS_INNER, :2] * 16).round().astype(np.int32)], TEETH, cv2.LINE_AA, 4)
    swapper = MeshSwapper()
    follow = swapper.follow(swapper.prepare([photo()]))
    follow.quality = replace(LADDER[0], grid=detail)
    patch = follow.patch(image, Face(0, points, 1.0), 0.0)
    assert patch is not None
    paste(image, patch)
    upper, lower = points[LIPS_INNER[3:8], :2], points[LIPS_INNER[17:12:-1], :2]
    for x, y in ((upper + lower) / 2).round().astype(int):
        assert np.abs(image[y, x].astype(int) - TEETH).max() <= 35


def test_result_does_not_depend_on_other_faces_or_earlier_runs() -> None:
    swapper = MeshSwapper()
    identity = swapper.prepare([photo()])
    frames = [
        (picture(p, seed=i), p) for i, p in enumerate(landmarks(centre=(300 + 2 * i, 240)) for i in range(4))
    ]

    def run(disturb: bool) -> list[Image]:
        follow, other = swapper.follow(identity), swapper.follow(identity)
        out = []
        for image, points in frames:
            patch = follow.patch(image, Face(0, points, 1.0), 0.8)
            if disturb:
                other.patch(image, Face(1, landmarks(width=90, centre=(100, 100)), 1.0), 0.3)
            assert patch is not None
            out.append(patch.image)
        return out

    for one, two in zip(run(False), run(True), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("centre", [(10, 240), (630, 240), (320, 5), (320, 475), (10, 470)])
def test_faces_cut_by_the_border_are_swapped_within_the_frame(centre: tuple[int, int]) -> None:
    points = landmarks(centre=centre)
    image = picture(points)
    out = swapped(image, points)
    assert out.shape == image.shape


@pytest.mark.parametrize(
    "points",
    [
        landmarks(centre=(-400, 240)),
        landmarks(centre=(320, 1400)),
        landmarks(yaw=150),
        landmarks(width=4),
        np.full((478, 3), np.nan, np.float32),
    ],
    ids=["left", "below", "turned-away", "tiny", "nan"],
)
def test_no_patch_where_there_is_nothing_to_swap(points: Points) -> None:
    swapper = MeshSwapper()
    image = np.zeros((480, 640, 3), np.uint8)
    follow = swapper.follow(swapper.prepare([photo()]))
    assert follow.patch(image, Face(0, points, 1.0), 0.8) is None


@pytest.mark.parametrize("width", [16, 40, 110, 600, 1500])
def test_every_size_of_face_works(width: float) -> None:
    points = landmarks(width=width)
    assert swapped(picture(points), points).shape == (480, 640, 3)


def test_light_follows_within_a_few_frames_and_does_not_flicker() -> None:
    swapper = MeshSwapper()
    follow = swapper.follow(swapper.prepare([photo()]))
    points = landmarks()
    face = Face(0, points, 1.0)
    bright, dim = picture(points), picture(points, skin=(60, 75, 100))
    x, y = points[50, :2].round().astype(int)

    def level(image: Image) -> float:
        patch = follow.patch(image, face, 0.0)
        assert patch is not None
        out = image.copy()
        paste(out, patch)
        return float(out[y, x].mean())

    steady = [level(bright) for _ in range(10)]
    assert np.ptp(steady) <= 1.0
    falling = [level(dim) for _ in range(15)]
    assert all(a >= b - 0.5 for a, b in pairwise(falling))
    assert abs(falling[-1] - np.mean((60, 75, 100))) <= 5


def test_source_eyes_are_an_option() -> None:
    points = landmarks()
    image = picture(points)
    cv2.circle(image, tuple(points[468, :2].round().astype(int).tolist()), 4, (0, 255, 0), -1)
    x, y = points[468, :2].round().astype(int)
    face = Face(0, points, 1.0)
    colours = []
    for own in (False, True):
        swapper = MeshSwapper(MeshOptions(source_eyes=own))
        patch = swapper.follow(swapper.prepare([photo()])).patch(image, face, 0.0)
        assert patch is not None
        out = image.copy()
        paste(out, patch)
        colours.append(out[y, x].astype(int))
    # Toned like the source's, the target's own green iris still shows.
    assert colours[0][1] > colours[0][2] + 40
    assert colours[1][1] < colours[1][2]


def test_several_photos_fill_what_one_does_not_show() -> None:
    turned = [photo(yaw=-40), photo(yaw=40)]
    one, both = MeshSwapper().prepare(turned[:1]), MeshSwapper().prepare(turned)
    assert both.alpha.sum() >= one.alpha.sum()
    assert len(both.textures) == len(one.textures)
