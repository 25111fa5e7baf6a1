"""The target's eyes in the source's tone."""

from __future__ import annotations

import cv2
import numpy as np

from engine.swap.mesh.eyes import ASIDE_SHARE, DETAIL, source_share, toned
from engine.swap.mesh.topology import IRIS_LEFT, IRIS_RIGHT, LEFT_EYE, RIGHT_EYE, with_rings
from engine.swap.mesh.unwrap import iris_points
from engine.types import Image
from tests.unit.swap.faces import landmarks

WIDTH = 300.0


def eye(iris: tuple[int, int, int], x: int, radius: int = 12) -> Image:
    out = np.full((50, 80, 3), (210, 215, 220), np.uint8)
    cv2.circle(out, (x, 25), radius, iris, -1, cv2.LINE_AA)
    cv2.circle(out, (x, 25), 4, (10, 10, 10), -1, cv2.LINE_AA)
    return out


def test_an_iris_takes_the_source_s_colour_and_keeps_the_target_s_glint() -> None:
    brown, blue = eye((30, 60, 100), 40), eye((170, 120, 70), 40)
    brown[20, 34] = 255
    out = toned(blue, brown, WIDTH)
    ring = out[25, 47:51].mean(0)
    assert ring[0] > ring[2] + 30
    assert out[20, 34].min() > out[20, 46].max() + 60


def test_an_eye_in_its_own_tone_is_unchanged() -> None:
    one = eye((30, 60, 100), 44)
    np.testing.assert_allclose(toned(one, one, WIDTH), one, atol=1e-3)


def test_broad_tone_is_the_source_s() -> None:
    pale, dark = np.full((60, 60, 3), 200, np.uint8), np.full((60, 60, 3), 80, np.uint8)
    dark[::2] += 10
    out = toned(pale, dark, WIDTH)
    assert abs(float(out.mean()) - 200) < 1
    assert DETAIL * WIDTH > 2
    assert float(np.abs(np.diff(out[20:40], axis=0)).mean()) > 8


def test_both_eyes_share_one_figure_that_falls_when_one_looks_aside() -> None:
    points = landmarks()
    ahead = with_rings(points, iris_points(points))
    ahead[IRIS_RIGHT], ahead[IRIS_LEFT] = ahead[RIGHT_EYE].mean(0), ahead[LEFT_EYE].mean(0)
    assert source_share(ahead) == 1
    shares = []
    for step in (0.1, 0.13, 0.3):
        aside = ahead.copy()
        aside[IRIS_LEFT, 0] += step * np.linalg.norm(aside[LEFT_EYE[0]] - aside[LEFT_EYE[8]])
        shares.append(source_share(aside))
    assert 1 > shares[0] > shares[1] > shares[2]
    assert abs(shares[2] - ASIDE_SHARE) < 1e-5
