"""Head pose and topology."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from engine.track.detector import Detector
from engine.track.landmarks import Landmarker
from engine.track.pose import fit, head_pose
from engine.track.stills import find_faces
from engine.track.topology import (
    CANONICAL,
    EDGES,
    LEFT_BROW,
    LEFT_EYE,
    LEFT_IRIS,
    LIPS_INNER,
    LIPS_OUTER,
    NOSE,
    OVAL,
    RIGHT_BROW,
    RIGHT_EYE,
    RIGHT_IRIS,
    SKIN_TRIANGLES,
    TRIANGLES,
)
from engine.types import Image


@pytest.mark.parametrize(
    ("yaw", "pitch", "roll"), [(0, 0, 0), (30, 0, 0), (0, -20, 0), (0, 0, 170), (25, 12, -40)]
)
def test_a_known_pose_comes_back(yaw: float, pitch: float, roll: float) -> None:
    # in the axes of a picture: x right, y down, z away
    rotation = Rotation.from_euler("xyz", [pitch, -yaw, roll], degrees=True).as_matrix()
    landmarks = (7.5 * CANONICAL @ rotation.T + (300, 200, 5)).astype(np.float32)
    scale, found, shift = fit(landmarks)
    assert scale == pytest.approx(7.5, rel=1e-5)
    assert found == pytest.approx(rotation, abs=1e-5)
    assert shift == pytest.approx(np.array([300, 200, 5]), abs=1e-3)
    assert head_pose(landmarks) == pytest.approx((yaw, pitch, roll), abs=1e-3)


def test_signs_on_a_nose() -> None:
    nose = CANONICAL[1] - CANONICAL.mean(0)
    for euler, axis in (((0, -30, 0), 0), ((30, 0, 0), 1)):
        turned = nose @ Rotation.from_euler("xyz", euler, degrees=True).as_matrix().T
        assert turned[axis] > nose[axis] + 1  # to the right with yaw, down with pitch


@pytest.mark.parametrize("ring", [OVAL, RIGHT_EYE, LEFT_EYE, LIPS_OUTER, LIPS_INNER])
def test_rings_follow_edges_of_the_mesh(ring: np.ndarray) -> None:
    edges = {tuple(edge) for edge in EDGES.tolist()}
    steps = zip(ring.tolist(), np.roll(ring, -1).tolist(), strict=True)
    assert len(set(ring.tolist())) == len(ring)
    assert all(tuple(sorted(step)) in edges for step in steps)


def test_the_mesh_is_closed_but_for_its_outline() -> None:
    assert len(TRIANGLES) == 898 and len(SKIN_TRIANGLES) == 852
    assert 468 - len(EDGES) + len(TRIANGLES) == 1  # a disc (Euler)
    pairs = np.sort(TRIANGLES[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), 1)
    _, count = np.unique(pairs, axis=0, return_counts=True)
    assert (count == 1).sum() == len(OVAL)


def test_sides_and_order(astronaut: Image, detector: Detector, landmarker: Landmarker) -> None:
    points = find_faces(astronaut, detector, landmarker)[0].landmarks
    middle = points[NOSE, 0].mean()
    for right, left in ((RIGHT_EYE, LEFT_EYE), (RIGHT_BROW, LEFT_BROW), (RIGHT_IRIS, LEFT_IRIS)):
        assert (points[right, 0] < middle).all() and (points[left, 0] > middle).all()
        assert points[right, 1].mean() == pytest.approx(points[left, 1].mean(), abs=8)
    for iris, eye in ((RIGHT_IRIS, RIGHT_EYE), (LEFT_IRIS, LEFT_EYE)):
        centre, right, top, left, bottom = points[iris, :2]
        assert points[eye, 0].min() < left[0] < centre[0] < right[0] < points[eye, 0].max()
        assert top[1] < centre[1] < bottom[1]
