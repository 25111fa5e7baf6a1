"""The networks, opened once, and the one face that a dependency ships."""

from __future__ import annotations

import numpy as np
import pytest
import skimage.data

from engine.track.detector import Detector
from engine.track.landmarks import Landmarker
from engine.types import Image


@pytest.fixture(scope="session")
def astronaut() -> Image:
    """uint8, 512×512×3, BGR; Eileen Collins, NASA, public domain."""
    return np.ascontiguousarray(skimage.data.astronaut()[..., ::-1])


@pytest.fixture(scope="session")
def detector() -> Detector:
    return Detector()


@pytest.fixture(scope="session")
def landmarker() -> Landmarker:
    return Landmarker()
