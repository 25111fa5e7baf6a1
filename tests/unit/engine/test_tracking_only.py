"""Tracking only: faces are told, nobody is shown, whatever the guard is set to."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from engine.build import make_tracker
from engine.cards import draw_card
from engine.config import GuardConfig, GuardPolicy
from engine.pipeline import Pipeline, Plan
from engine.sources.demo import DemoSource
from engine.swap import make_swapper
from engine.types import Frame, Image, Shown

W, H = 320, 240


@pytest.fixture(scope="module")
def frames() -> list[Frame]:
    source = DemoSource((W, H), 15.0, realtime=False, frames=6)
    source.open()
    return list(iter(source.read, None))


def likeness(one: Image, other: Image) -> float:
    """Correlation of the finer structure, in which a face could be recognised."""
    fine = [cv2.GaussianBlur(i, (0, 0), 1) - cv2.GaussianBlur(i, (0, 0), 6.0) for i in (
        cv2.cvtColor(one, cv2.COLOR_BGR2GRAY).astype(np.float32),
        cv2.cvtColor(other, cv2.COLOR_BGR2GRAY).astype(np.float32),
    )]  # fmt: skip
    return float(np.corrcoef(fine[0].ravel(), fine[1].ravel())[0, 1])


@pytest.mark.parametrize("policy", list(GuardPolicy))
def test_nobody_is_shown(frames: list[Frame], policy: GuardPolicy) -> None:
    swapper = make_swapper()
    plan = Plan(guard=GuardConfig(policy), tracking_only=True)
    pipeline = Pipeline(make_tracker(), swapper, plan)
    card = draw_card(W, H, "tracking-only")
    for frame in frames:
        output = pipeline.process(frame)
        assert output.faces
        assert not output.swapped
        assert (output.shown, output.reason) == (Shown.COVERED, "tracking-only")
        if policy in (GuardPolicy.BLUR, GuardPolicy.PIXELATE):
            assert likeness(output.image, frame.image) < 0.3
        else:
            assert np.array_equal(output.image, card)
    pipeline.change(panic=True)
    output = pipeline.process(frames[-1])
    assert output.reason == "panic"
    assert np.array_equal(output.image, draw_card(W, H, "panic"))


def test_the_measure_can_fail(frames: list[Frame]) -> None:
    assert likeness(frames[0].image, frames[0].image) > 0.99
    assert likeness(frames[0].image, frames[2].image) > 0.3
