from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pytest

from engine.errors import UsageError
from engine.sources.demo import DemoSource
from engine.sources.demo.motion import Motion, Pose
from engine.sources.demo.puppet import Puppet
from engine.track.detector import Detector
from engine.track.pose import head_pose
from engine.track.stills import find_faces

AT_REST = Pose(yaw=0, pitch=0, roll=0, sway=(0.0, 0.0), scale=1, blink=0, mouth=0, brows=0)


def posed(**changes: float) -> Pose:
    from dataclasses import replace

    return replace(AT_REST, **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def puppet() -> Puppet:
    return Puppet(640, 360)


def landmarks(image: np.ndarray) -> np.ndarray:
    return find_faces(image)[0].landmarks


def opening(face: np.ndarray, upper: int, lower: int, a: int, b: int) -> float:
    return float(np.linalg.norm((face[upper] - face[lower])[:2]) / np.linalg.norm((face[a] - face[b])[:2]))


def test_frames_depend_on_seed_and_id_only() -> None:
    def frames(seed: int) -> list[np.ndarray]:
        source = DemoSource((320, 180), seed=seed, realtime=False, frames=70)
        info = source.open()
        assert (info.width, info.height, info.live, info.frames) == (320, 180, False, 70)
        found = list(iter(source.read, None))
        source.close()
        assert [f.id for f in found] == list(range(70))
        assert found[30].pts == pytest.approx(1.0)
        return [f.image for f in found]

    first, again, other = frames(1), frames(1), frames(2)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[60], other[60])
    assert not np.array_equal(first[0], first[60])


@pytest.mark.parametrize(
    ("angle", "nominal"),
    [("yaw", 20), ("yaw", -20), ("pitch", 10), ("pitch", -10), ("roll", 10), ("roll", -10)],
)
def test_the_head_turns_the_way_it_is_told(puppet: Puppet, angle: str, nominal: float) -> None:
    rest = head_pose(landmarks(puppet.render(AT_REST)))
    turned = head_pose(landmarks(puppet.render(posed(**{angle: nominal}))))
    change = getattr(turned, angle) - getattr(rest, angle)
    assert 0.55 * abs(nominal) < change * np.sign(nominal) < 1.3 * abs(nominal)


def test_eyes_close_and_the_mouth_opens_and_closes(puppet: Puppet) -> None:
    def eyes(face: np.ndarray) -> float:
        return opening(face, 159, 145, 33, 133)

    def lips(face: np.ndarray) -> float:
        return opening(face, 13, 14, 78, 308)

    rest, shut = landmarks(puppet.render(AT_REST)), landmarks(puppet.render(posed(blink=1)))
    wide, closed = landmarks(puppet.render(posed(mouth=1))), landmarks(puppet.render(posed(mouth=-1)))
    assert eyes(shut) < 0.5 * eyes(rest)
    assert lips(wide) > 1.6 * lips(rest)
    assert lips(closed) < 0.4 * lips(rest)
    assert abs(lips(shut) - lips(rest)) < 0.05


def test_nothing_tears_and_edges_show_no_smear(puppet: Puppet) -> None:
    rest = puppet.render(AT_REST).astype(int)
    turned = puppet.render(posed(yaw=20, pitch=-10, roll=10)).astype(int)
    # far from the head the background stays where it is
    assert np.abs(turned[:, :20] - rest[:, :20]).mean() < 6
    # two neighbouring columns or rows are never the same over their whole length
    assert (np.abs(np.diff(turned, axis=0)).sum((1, 2)) > 0).all()
    assert (np.abs(np.diff(turned, axis=1)).sum((0, 2)) > 0).all()


@pytest.mark.parametrize("size", [(1280, 720), (640, 480), (360, 640), (65, 97), (1920, 540)])
def test_any_size(size: tuple[int, int]) -> None:
    source = DemoSource(size, realtime=False, frames=1)
    source.open()
    frame = source.read()
    assert frame is not None
    assert frame.image.shape == (size[1], size[0], 3)
    assert frame.image.flags.c_contiguous
    if min(size) > 100:
        assert len(Detector().detect(frame.image)) == 1


@pytest.mark.parametrize("faces", [1, 2])
def test_the_detector_sees_everybody_all_the_time(faces: int) -> None:
    source = DemoSource((640, 360), realtime=False, faces=faces, seed=4)
    source.open()
    detector = Detector()
    assert {len(detector.detect(source.picture(number))) for number in range(0, 900, 20)} == {faces}


def test_like_a_camera_it_misses_frames_and_stops_when_closed() -> None:
    source = DemoSource((320, 180), fps=20)
    assert source.open().live
    first = source.read()
    time.sleep(0.3)
    later = source.read()
    assert first is not None
    assert later is not None
    assert later.id - first.id >= 5
    assert later.pts is None
    slow = DemoSource((320, 180), fps=0.5)
    slow.open()
    slow.read()
    got: list[object] = []
    reader = threading.Thread(target=lambda: got.append(slow.read()))
    reader.start()
    time.sleep(0.05)
    slow.close()
    reader.join(0.5)
    assert got == [None]


def test_motion_stays_within_its_limits_and_is_smooth() -> None:
    motion = Motion(7)
    poses = [motion.at(i / 30) for i in range(3000)]
    assert motion.at(0) == posed()
    assert max(abs(p.yaw) for p in poses) > 12
    assert max(abs(b.yaw - a.yaw) for a, b in itertools.pairwise(poses)) < 2
    assert {round(p.blink) for p in poses} == {0, 1}
    assert min(p.mouth for p in poses) < -0.4
    assert max(p.mouth for p in poses) > 0.6
    assert sum(p.mouth == 0 for p in poses) > 300


def test_impossible_wishes() -> None:
    with pytest.raises(UsageError):
        DemoSource(faces=3)
    with pytest.raises(UsageError):
        DemoSource((32, 32))
