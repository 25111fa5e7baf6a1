"""Which triangle covers a cell, and what is interpolated there."""

from __future__ import annotations

import numpy as np

from engine.swap.mesh.raster import cover
from engine.swap.mesh.topology import topology
from tests.unit.swap.faces import landmarks

SQUARE = np.array([[1, 1], [9, 1], [9, 7], [1, 7]], np.float32)
HALVES = np.array([[0, 1, 2], [0, 2, 3]])


def test_a_square_of_two_triangles_has_neither_gap_nor_overlap() -> None:
    drawn = cover(SQUARE, HALVES, (12, 10))
    assert (drawn.which[1:8, 1:10] >= 0).all()
    assert (drawn.which >= 0).sum() == 7 * 9 == len(drawn.cells)


def test_values_are_linear_between_the_vertices() -> None:
    points = SQUARE + np.array([0.3, -0.2], np.float32)
    y, x = np.mgrid[0:10, 0:12].astype(np.float32)
    planes = cover(points, HALVES, (12, 10)).draw(np.stack([points[:, 0], 2 * points[:, 1] + 1], 1))
    covered = planes.any(2)
    np.testing.assert_allclose(planes[covered], np.stack([x, 2 * y + 1], 2)[covered], atol=1e-4)
    assert not planes[~covered].any() and covered.sum() == 8 * 6


def test_a_later_triangle_hides_an_earlier_one_and_an_empty_one_nothing() -> None:
    doubled = np.array([[0, 2, 3], [0, 1, 2], [0, 2, 3], [1, 1, 3]])
    assert set(np.unique(cover(SQUARE, doubled, (12, 10)).which)) == {-1, 1, 2}


def test_what_lies_outside_is_cut_off() -> None:
    drawn = cover(SQUARE * 5 - 20, HALVES, (6, 5))
    assert (drawn.which >= 0).all()
    assert len(cover(SQUARE + 40, HALVES, (6, 5)).cells) == 0


def test_a_face_is_drawn_without_gaps() -> None:
    surface = topology().triangles[: topology().rings.start]
    for size in (30.0, 77.0):
        points = landmarks(width=size, centre=(60, 60))[:468, :2]
        irises = landmarks(width=size, centre=(60, 60))[[468, 473], :2]
        rings = np.zeros((72, 2), np.float32)
        drawn = cover(np.concatenate([points, rings, irises]), surface, (120, 120)).which >= 0
        rows = [np.flatnonzero(row) for row in drawn if row.any()]
        assert all(np.diff(row).max(initial=1) == 1 for row in rows)
