from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from engine.buffers import Policy
from engine.config import GuardConfig, GuardPolicy, HealthConfig, SessionConfig, SwapConfig, Who
from engine.errors import DeviceError, UsageError
from engine.live.dispatch import Route
from engine.live.session import Session
from engine.live.state import FinishReason, State
from engine.pipeline import Pipeline
from engine.track.choice import FaceChoice
from engine.types import Shown
from tests.scripted import CheckingSink, Person, Script, World, WorldSource, pipeline_parts, shows

FAST = HealthConfig(
    no_frames_s=0.2, frozen_s=0.4, stall_s=0.1, stage_s=0.3, sink_s=0.3, backoff_s=0.02,
    backoff_max_s=0.1, card_fps=50.0,
)  # fmt: skip
CONFIG = SessionConfig(swap=SwapConfig(who=Who.ALL), health=FAST)


class Stage:
    """A session among scripted parts."""

    def __init__(self, *, config=CONFIG, live=True, frames=None, sinks=None, people=None, fps=100.0):
        self.world = World() if people is None else World(people)
        self.script = Script()
        self.source = WorldSource(self.world, live=live, frames=frames, fps=fps)
        self.sink = CheckingSink(self.world)
        self.built = 0
        self.session = Session(
            config, self.source, [self.sink] if sinks is None else sinks, identity=object(), build=self.build
        )

    def build(self, plan, report):
        self.built += 1
        tracker, swapper, marker = pipeline_parts(self.world, self.script)
        return Pipeline(tracker, swapper, plan, marker=marker, report=report)

    def until(self, condition, seconds=5.0):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain: {self.session.stats()}"
            time.sleep(0.005)

    def swapped(self):
        """Wait for one more swapped picture."""
        count = len(self.sink.outputs)
        self.until(lambda: any(one.shown is Shown.SWAPPED for one in self.sink.outputs[count:]))

    def leaks(self):
        return self.sink.problems + [
            f"{output.frame.id} {output.shown} {output.reason}"
            for output in self.sink.outputs
            if output.image is not output.frame.image
            for person in self.world.at(output.frame.image)
            if shows(output.image, output.frame.image, person)
        ]


@pytest.fixture(autouse=True)
def no_thread_left():
    yield
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        left = [one.name for one in threading.enumerate() if one.name.startswith("kawari")]
        if not left:
            return
        time.sleep(0.01)
    pytest.fail(f"threads left behind: {left}")


@pytest.mark.parametrize("overlap", [False, True])
def test_a_clip_goes_through_without_loss(overlap):
    stage = Stage(config=replace(CONFIG, overlap=overlap), live=False, frames=60)
    with stage.session as session:
        assert session.wait(20) is FinishReason.ENDED
    assert [one.frame.id for one in stage.sink.outputs] == list(range(60))
    assert {one.shown for one in stage.sink.outputs} == {Shown.SWAPPED}
    assert stage.sink.opened == stage.sink.closed == 1
    assert not stage.leaks()
    stats = session.stats()
    assert stats.frames_out == stats.frames_in == 60
    assert stats.state == "finished" and stats.reason == "ended"
    assert stats.sinks[0].written == 60 and stats.sinks[0].delay.count == 60


@pytest.mark.parametrize("overlap", [False, True])
def test_live_frames_leave_in_order_and_stop_is_clean(overlap):
    stage = Stage(config=replace(CONFIG, overlap=overlap))
    with stage.session:
        stage.swapped()
        stage.until(lambda: len(stage.sink.outputs) > 20)
    assert stage.session.reason is FinishReason.STOPPED
    assert stage.session.stats().abandoned == ()
    assert not stage.leaks()
    ids = [one.frame.id for one in stage.sink.outputs if one.shown is Shown.SWAPPED]
    assert ids == sorted(ids)


def test_a_slow_engine_gets_the_newest_frame():
    stage = Stage(fps=200)
    stage.script.slow_s = 0.03
    with stage.session:
        stage.until(lambda: len(stage.sink.outputs) > 15)
        stats = stage.session.stats()
    assert stats.drops["newer"] > 20
    assert not stage.leaks()


def test_events_are_told_to_iterators_and_callbacks():
    stage = Stage(live=False, frames=5)
    heard = []
    stage.session.subscribe(heard.append)
    stage.session.subscribe(lambda event: 1 / 0)
    events = stage.session.events()
    with stage.session as session:
        session.wait(10)
    kinds = [(one.kind, one.data.get("state")) for one in events]
    assert kinds == [(one.kind, one.data.get("state")) for one in heard]
    states = [state for kind, state in kinds if kind == "state"]
    assert states == ["starting", "running", "stopping", "finished"]


def test_a_source_that_does_not_open_fails_the_start():
    stage = Stage()
    stage.source.unplugged = True
    with pytest.raises(DeviceError, match="unplugged"):
        stage.session.start()
    assert stage.session.state is State.FINISHED
    assert stage.session.reason is FinishReason.FAILED
    assert stage.sink.opened == 0
    with pytest.raises(UsageError):
        stage.session.start()


def test_a_sink_that_does_not_open_fails_the_start_and_closes_the_others():
    good, bad = CheckingSink(World(), "good"), CheckingSink(World(), "bad")
    bad.open = lambda stream: (_ for _ in ()).throw(DeviceError("no such device"))
    stage = Stage(sinks=[good, bad])
    with pytest.raises(DeviceError, match="no such device"):
        stage.session.start()
    assert good.closed == 1


@pytest.mark.parametrize("what", ["camera", "camera-hard", "model", "sink"])
def test_stop_takes_less_than_a_second_whatever_hangs(what):
    stage = Stage()
    stop_hanging = threading.Event()
    with stage.session as session:
        stage.swapped()
        if what == "camera":
            stage.source.hang = True
        elif what == "camera-hard":
            blocked = stage.source.read
            stage.source.read = lambda: (stop_hanging.wait(), blocked())[1]
        elif what == "model":
            stage.script.hang = stop_hanging
        else:
            stage.sink.hang = stop_hanging
        time.sleep(0.1)
        began = time.monotonic()
        session.stop()
        took = time.monotonic() - began
    assert took < 1.0
    count = len(stage.sink.outputs)
    assert bool(session.stats().abandoned) is (what != "camera")
    stop_hanging.set()
    time.sleep(0.05)
    assert len(stage.sink.outputs) <= count + (what == "sink"), "an abandoned thread still delivered"


def test_the_camera_comes_back_by_itself():
    stage = Stage()
    with stage.session:
        stage.swapped()
        stage.source.unplugged = True
        stage.until(lambda: stage.session.state is State.RECOVERING)
        stage.until(lambda: stage.sink.outputs[-1].reason == "camera-lost")
        stage.source.unplugged = False
        stage.swapped()
        stage.until(lambda: stage.session.state is State.RUNNING)
    assert stage.session.stats().restarts["source"] >= 1
    assert not stage.leaks()


@pytest.mark.parametrize("fault", ["hang", "frozen", "corrupt"])
def test_a_sick_camera_is_opened_again(fault):
    stage = Stage()
    with stage.session:
        stage.swapped()
        setattr(stage.source, fault, True)
        stage.until(lambda: stage.session.stats().restarts["source"] >= 1)
        setattr(stage.source, fault, False)
        stage.swapped()
    assert not stage.leaks()


def test_a_hanging_model_is_replaced():
    stage = Stage()
    hang = threading.Event()
    with stage.session:
        stage.swapped()
        stage.script.hang = hang
        stage.until(lambda: stage.built == 2)
        assert stage.sink.outputs[-1].shown is Shown.COVERED
        stage.script.hang = None
        stage.swapped()
        hang.set()
    assert stage.session.stats().restarts["engine"] == 1
    assert not stage.leaks()


def test_after_a_hang_nobody_is_taken_for_the_chosen_person():
    """The new tracker counts persons from 0 again."""
    stage = Stage(people=[Person(1, x=25, width=24), Person(2, x=70, width=24)])
    hang, told = threading.Event(), []
    with stage.session:
        stage.session.subscribe(lambda event: told.append(event.kind))
        stage.session.set_choice(FaceChoice.only(2))
        stage.until(lambda: stage.sink.outputs and stage.sink.outputs[-1].swapped == (2,))
        stage.script.hang = hang
        stage.until(lambda: stage.built == 2)
        stage.script.hang = None
        count = len(stage.sink.outputs)
        stage.swapped()
        hang.set()
        stage.until(lambda: "choice-lost" in told)
    assert {one.swapped for one in stage.sink.outputs[count:] if one.shown is Shown.SWAPPED} == {(1, 2)}


def test_models_that_hang_again_and_again_end_the_session():
    stage = Stage(config=replace(CONFIG, health=replace(FAST, restarts=1)))
    stage.script.hang = threading.Event()
    session = stage.session
    session.start()
    assert session.wait(10) is FinishReason.FAILED
    assert "hang again and again" in str(session.error)
    stage.script.hang.set()


@pytest.mark.parametrize("how", ["raises", "hangs"])
def test_a_bad_sink_does_not_disturb_the_good_one(how):
    bad = CheckingSink(World(), "bad")
    stage = Stage(sinks=None)
    hang = threading.Event()
    with stage.session as session:
        session.add_sink(bad)
        stage.until(lambda: len(bad.outputs) > 3)
        if how == "raises":
            bad.raises = DeviceError("gone")
        else:
            bad.hang = hang
        stage.until(lambda: any(one.failed for one in session.stats().sinks))
        stage.swapped()
        hang.set()
    assert not stage.leaks()


def test_a_restartable_sink_comes_back():
    sink = CheckingSink(World(), "camera")
    stage = Stage(sinks=[Route(sink, restart=True)])
    with stage.session:
        stage.until(lambda: len(sink.outputs) > 3)
        sink.raises = DeviceError("driver gone")
        stage.until(lambda: sink.closed == 1)
        sink.raises = None
        count = len(sink.outputs)
        stage.until(lambda: len(sink.outputs) > count + 3)
    assert sink.opened == 2


def test_sinks_come_and_go_while_it_runs():
    stage = Stage()
    with stage.session as session:
        extra = CheckingSink(stage.world, "extra")
        session.add_sink(Route(extra, Policy.DROP_NEW, 3))
        stage.until(lambda: len(extra.outputs) > 3)
        session.remove_sink(extra)
        assert extra.closed == 1
        stage.swapped()
    assert extra.opened == extra.closed == 1


def test_panic_covers_within_one_frame_and_latches():
    stage = Stage()
    with stage.session as session:
        stage.swapped()
        session.panic()
        count = len(stage.sink.outputs)
        stage.until(lambda: len(stage.sink.outputs) > count + 10)
        assert all(one.reason == "panic" for one in stage.sink.outputs[count + 1 :])
        assert session.stats().panic
        session.panic(False)
        stage.swapped()
    assert not stage.leaks()


def test_panic_covers_while_the_model_hangs():
    stage = Stage(config=replace(CONFIG, health=replace(FAST, stall_s=5.0, stage_s=5.0)))
    hang = threading.Event()
    with stage.session as session:
        stage.swapped()
        stage.script.hang = hang
        time.sleep(0.05)
        session.panic()
        stage.until(lambda: stage.sink.outputs[-1].reason == "panic", 1.0)
        hang.set()


def test_the_source_can_be_switched():
    stage = Stage()
    with stage.session as session:
        stage.swapped()
        stage.world.people[:] = [Person(7, x=60, width=22)]
        second = WorldSource(stage.world)
        session.switch_source(second)
        stage.swapped()
        stage.until(lambda: session.state is State.RUNNING)
    assert second._closed.is_set() and stage.source._closed.is_set()
    assert not stage.leaks()


def test_settings_change_while_it_runs():
    stage = Stage()
    with stage.session as session:
        stage.swapped()
        session.set_guard(GuardConfig(policy=GuardPolicy.PIXELATE))
        session.set_strength(0.3)
        with pytest.raises(UsageError):
            session.set_strength(2.0)
        stage.script.swap_none = True
        stage.until(lambda: stage.sink.outputs[-1].shown is Shown.COVERED)
        time.sleep(0.1)
        assert all(one.shown is not Shown.HELD for one in stage.sink.outputs)
        session.set_identity(object())
    assert not stage.leaks()


def test_size_changes_in_mid_stream():
    stage = Stage()
    with stage.session:
        stage.swapped()
        stage.world.width, stage.world.height = 120, 90
        stage.until(lambda: stage.sink.outputs[-1].image.shape == (90, 120, 3))
        stage.swapped()
    assert not stage.leaks()


def test_stop_from_an_event_listener_does_not_block_itself():
    stage = Stage()
    stage.session.subscribe(lambda event: stage.session.stop() if event.kind == "panic" else None)
    stage.session.start()
    stage.swapped()
    stage.session.panic()
    assert stage.session.wait(3) is FinishReason.STOPPED
    assert np.all(stage.sink.closed == 1)
