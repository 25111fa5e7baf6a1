"""What viewers are sent and when, on a clock of the test's own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.sinks.feeder import CARD_AFTER_S, Feeder
from engine.sinks.ring import Ring

FPS, CARD = 25.0, 200


class Record:
    device = "record"

    def __init__(self) -> None:
        self.values: list[int] = []

    def send(self, picture: NDArray[np.uint8]) -> None:
        assert (picture == picture[0, 0, 0]).all()
        self.values.append(int(picture[0, 0, 0]))

    def close(self) -> None:
        pass


@pytest.fixture
def ring() -> Iterator[Ring]:
    ring = Ring.create(16, 16)
    ring.card[:] = CARD
    yield ring
    ring.close()
    ring.unlink()


def write(ring: Ring, value: int) -> None:
    with ring.writing() as slot:
        slot[:] = value


def test_card_first_then_each_picture_at_once(ring: Ring) -> None:
    sent = Record()
    feeder = Feeder(ring, sent, FPS, 0.0)
    feeder.step(0.0, engine_gone=False)
    for n in range(1, 6):
        write(ring, n)
        feeder.step(n / FPS, engine_gone=False)
    assert sent.values == [CARD, 1, 2, 3, 4, 5]
    assert feeder.state == {"sent": 6, "repeated": 1, "card": False, "number": 5}


def test_pictures_too_close_together_are_thinned_out_and_the_newest_wins(ring: Ring) -> None:
    sent = Record()
    feeder = Feeder(ring, sent, FPS, 0.0)
    feeder.step(0.0, engine_gone=False)
    for n in range(1, 41):
        write(ring, n)
        feeder.step(n * 0.01, engine_gone=False)
    assert sent.values[-1] == 39 or sent.values[-1] == 40
    assert len(sent.values) <= 1 + 0.4 * FPS / 0.6
    assert sent.values[1:] == sorted(set(sent.values[1:]))


def test_a_gap_repeats_the_last_picture_then_shows_the_card(ring: Ring) -> None:
    sent = Record()
    feeder = Feeder(ring, sent, FPS, 0.0)
    write(ring, 7)
    now = 0.0
    while now < CARD_AFTER_S - 0.02:
        feeder.step(now, engine_gone=False)
        now += 0.01
    assert set(sent.values) == {7} and len(sent.values) > 5
    feeder.step(CARD_AFTER_S, engine_gone=False)
    assert sent.values[-1] == CARD and feeder.showing_card
    write(ring, 8)
    feeder.step(CARD_AFTER_S + 1 / FPS, engine_gone=False)
    assert sent.values[-1] == 8 and not feeder.showing_card


def test_without_an_engine_the_card_comes_at_once_and_stays(ring: Ring) -> None:
    sent = Record()
    feeder = Feeder(ring, sent, FPS, 0.0)
    write(ring, 7)
    feeder.step(0.0, engine_gone=False)
    write(ring, 8)
    for n in range(1, 10):
        feeder.step(n / FPS, engine_gone=True)
    assert sent.values[0] == 7 and set(sent.values[1:]) == {CARD}


def test_a_replacement_waits_for_a_fresh_picture_and_never_shows_an_old_one(ring: Ring) -> None:
    write(ring, 7)
    sent = Record()
    feeder = Feeder(ring, sent, FPS, 0.0)
    feeder.step(0.0, engine_gone=False)
    assert sent.values == []
    write(ring, 8)
    feeder.step(0.03, engine_gone=False)
    assert sent.values == [8]

    stalled = Record()
    feeder = Feeder(ring, stalled, FPS, 10.0)
    for n in range(40):
        feeder.step(10 + n / 100, engine_gone=False)
    assert set(stalled.values) == {CARD}


def test_the_card_is_the_last_picture(ring: Ring) -> None:
    sent = Record()
    feeder = Feeder(ring, sent, FPS, 0.0)
    write(ring, 7)
    feeder.step(0.0, engine_gone=False)
    feeder.finish()
    assert sent.values[0] == 7 and sent.values[-1] == CARD
