"""The neural path's own cost against the least possible and against InsightFace, in one run."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from app.bench import neural
from app.bench.least import Least
from engine.align import five_points
from engine.catalog.entry import read_catalogue
from engine.swap.neural.mask import box_mask
from engine.swap.neural.swapper import NeuralIdentity, NeuralSwapper
from models import CATALOGUE


def test_the_least_does_the_same_work() -> None:
    """A bound that makes another picture would bound nothing."""
    image, face = neural._scene(1)
    contract = read_catalogue(CATALOGUE)["inswapper_128"].contract
    session, source = neural.Instant(128), np.ones((1, 512), np.float32)
    swapper = NeuralSwapper("inswapper_128", contract, session)
    ours = neural.swap(swapper.follow(NeuralIdentity(source)), image, face)
    least = Least(session, source, box_mask(128)).swap(image, five_points(face.landmarks))
    difference = cv2.absdiff(ours, least)
    assert difference.max() <= 2
    assert np.count_nonzero(difference) < 0.01 * difference.size
    assert np.count_nonzero(cv2.absdiff(ours, image)) > 0.05 * image.size


@pytest.mark.bench
def test_the_overhead_is_bounded() -> None:
    report = neural.run(150, lambda text: None)
    assert report.passed, report.text()
