from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from engine.buffers import BoundedQueue, Policy, latest_frame
from engine.cards import TEXTS, Cards, draw_card
from engine.events import Event, EventBus
from engine.live.delivery import SinkStats
from engine.live.state import ALLOWED, State, StateMachine
from engine.live.stats import Stats
from engine.live.watchdog import Backoff, Limit
from engine.log import JsonLog
from engine.metrics import Histogram, Percentiles, Rate, Recent
from engine.sources.paced import PacedSource


@pytest.mark.parametrize("scale", [1e5, 1e7, 1e9])
def test_quantiles_are_right_to_two_percent(scale):
    values = np.random.default_rng(1).lognormal(0, 1, 20_000) * scale
    histogram = Histogram()
    for value in values:
        histogram.record(int(value))
    found = histogram.percentiles()
    for q, ms in ((50, found.p50), (95, found.p95), (99, found.p99), (100, found.max)):
        assert ms == pytest.approx(np.percentile(values, q) / 1e6, rel=0.02, abs=0.005)
    assert found.count == 20_000


def test_a_histogram_takes_anything_and_forgets():
    histogram = Histogram()
    for value in (-5, 0, 1, 10**15):
        histogram.record(value)
    assert histogram.percentiles().max == 1e9
    histogram.clear()
    assert histogram.percentiles().count == 0


def test_rate_falls_when_nothing_comes():
    rate = Rate()
    for i in range(30):
        rate.tick(i * 10_000_000)
    assert rate.per_second(290_000_000) == pytest.approx(100, rel=0.05)
    assert rate.per_second(5_000_000_000) < 10


def test_policies_of_a_full_queue():
    newest: BoundedQueue[int] = latest_frame()
    old: BoundedQueue[int] = BoundedQueue(1, Policy.DROP_NEW)
    for queue in (newest, old):
        queue.put(1)
        queue.put(2)
        assert queue.dropped == 1
    assert newest.take(0) == 2 and old.take(0) == 1
    block: BoundedQueue[int] = BoundedQueue(1, Policy.BLOCK)
    assert block.put(1) and not block.put(2, timeout=0.01) and block.dropped == 0


def test_a_closed_queue_wakes_all_and_can_be_emptied():
    queue: BoundedQueue[int] = BoundedQueue(1, Policy.BLOCK)
    queue.put(1)
    with ThreadPoolExecutor(2) as pool:
        blocked = [pool.submit(queue.put, 2), pool.submit(queue.put, 3)]
        queue.close()
        assert [one.result(2) for one in blocked] == [False, False]
    assert queue.take() == 1 and queue.take() is None


def test_only_allowed_moves():
    seen = []
    machine = StateMachine(seen.append)
    assert not machine.move(State.RUNNING)
    for state in (State.STARTING, State.RUNNING, State.RECOVERING, State.RUNNING, State.STOPPING):
        assert machine.move(state)
    assert not machine.move(State.RUNNING)
    assert machine.move(State.FINISHED) and not ALLOWED[State.FINISHED]
    assert seen[-1] is State.FINISHED and machine.wait_for(State.FINISHED, 0)


def test_backoff_doubles_and_recovers():
    backoff = Backoff(0.1, 1.0)
    waits = [round((backoff.next_try(0)) / 1e9, 3) for _ in range(6)]
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    later = int(20e9)
    assert backoff.next_try(later) == later + int(0.1e9)


def test_limit_counts_a_minute():
    limit = Limit(2)
    assert [limit.allows(0), limit.allows(1), limit.allows(2)] == [True, True, False]
    assert limit.allows(int(61e9))


def test_a_hanging_listener_delays_nobody():
    bus = EventBus(lambda: 0)
    release, heard = threading.Event(), []
    events = bus.events()
    bus.subscribe(lambda event: release.wait(5) or None)
    bus.subscribe(heard.append)
    for number in range(1000):
        bus.report("tick", n=number)
    assert not bus.close(0.05)
    release.set()
    assert bus.close(5)
    assert heard[-1].data == {"n": 999} and len(heard) <= 258
    assert len(list(events)) <= 257


@pytest.mark.parametrize("reason", [*TEXTS, "anything"])
@pytest.mark.parametrize("size", [(1, 1), (31, 200), (320, 180), (1920, 1080), (100, 1000)])
def test_cards_of_any_size(reason, size):
    card = draw_card(*size, reason)
    assert card.shape == (size[1], size[0], 3) and card.dtype == np.uint8
    if min(size) >= 100:
        assert card.std() > 1


def test_cards_are_marked_and_kept():
    marked = []
    picture = np.full((50, 100, 3), 77, np.uint8)
    cards = Cards(lambda image: marked.append(image.shape), picture)
    assert cards.get("panic", 64, 48) is cards.get("panic", 64, 48)
    assert marked == [(48, 64, 3)]
    assert (cards.get("picture", 30, 40) == 77).all()


def test_the_log_has_no_paths(tmp_path):
    log = JsonLog(tmp_path / "kawari.log", size=2000, kept=2)
    log(Event("sink-failed", 1, "/home/anna/secret.mp4: full", {"error": "OSError", "x": "/home/anna"}))
    for number in range(100):
        log(Event("tick", 1, "", {"n": number}))
    log.close()
    files = sorted(tmp_path.iterdir())
    assert len(files) == 3 and all(one.stat().st_size <= 2000 for one in files)
    text = "".join(one.read_text() for one in files)
    assert "anna" not in text
    assert json.loads(files[0].read_text().splitlines()[-1])["n"] == 99


def test_paced_frames_have_known_times():
    images = [np.full((4, 4, 3), i, np.uint8) for i in range(3)]
    source = PacedSource(images, 200, frames=20)
    info = source.open()
    frames = list(iter(source.read, None))
    assert info.live and frames
    for frame in frames:
        assert frame.captured_ns == source.due_ns(frame.id)
        assert frame.image is images[frame.id % 3]
    ids = [frame.id for frame in frames]
    assert ids == sorted(set(ids)) and ids[-1] <= 19
    source.close()


def test_the_usual_of_the_last_durations() -> None:
    recent = Recent(5)
    assert recent.usual_ns == 0
    for ns in (1, 100, 101, 102, 99, 9_000, 103):
        recent.record(ns)
    assert recent.usual_ns == 102


def test_how_late_a_voice_must_be() -> None:
    def sink(name: str, recent_ms: float, failed: str = "") -> SinkStats:
        return SinkStats(name, 1, 0, 0, Percentiles(), Percentiles(), 30.0, failed, recent_ms)

    assert Stats().sound_delay_ms == 0
    seen = sink("preview", 40), sink("virtual camera", 55), sink("recorder", 300)
    assert Stats(sinks=seen).sound_delay_ms == 55
    assert Stats(sinks=(seen[0], sink("virtual camera", 55, "DeviceError"))).sound_delay_ms == 40
    assert Stats(sinks=seen[2:]).as_dict()["sound_delay_ms"] == 300
