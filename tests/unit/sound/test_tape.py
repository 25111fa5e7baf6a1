"""A microphone's clock is learnt from jittery time stamps, and its sound read at the system's."""

from __future__ import annotations

import numpy as np
import pytest

from engine.sound.clock import SampleClock
from engine.sound.tape import Playhead, Tape

START = 3_000_000_000


def fill(
    tape: Tape, seconds: float, *, drift: float = 0.0, hertz: float = 0.0, jitter_s: float = 0.003
) -> None:
    """A tone whose phase is 0 at `START`, by a device whose period is `drift` too long."""
    rng = np.random.default_rng(1)
    count = round(tape.rate / 100)
    period_s = (1 + drift) / tape.rate
    for first in range(0, round(seconds / period_s), count):
        taken_s = (first + np.arange(count)) * period_s
        block = np.sin(2 * np.pi * hertz * taken_s).astype(np.float32)
        tape.append(block, START + round((taken_s[0] + rng.normal(0, jitter_s)) * 1e9))


@pytest.mark.parametrize("drift", [-2e-4, 0.0, 1e-4, 4e-4])
def test_the_rate_is_learnt(drift: float) -> None:
    clock, rng = SampleClock(48_000), np.random.default_rng(0)
    for number in range(6000):
        at_s = number * 0.01 * (1 + drift)
        clock.update(number * 480, START + round((at_s + rng.normal(0, 0.003)) * 1e9))
        if number > 100:
            assert abs(clock.time_at(number * 480) - START - at_s * 1e9) < 2e6
    assert clock.drift == pytest.approx(drift, abs=3e-5)
    assert clock.index_at(clock.time_at(12345.6)) == pytest.approx(12345.6)


@pytest.mark.parametrize("rate", [44_100, 48_000, 96_000])
def test_a_drifting_tone_comes_back_in_time_and_clean(rate: int) -> None:
    tape, hertz = Tape(rate), 1000.0
    fill(tape, 11, drift=2e-4, hertz=hertz)
    playhead = Playhead(tape, 48_000)
    read = np.concatenate([playhead.read(START + round((1 + k * 0.02) * 1e9), 960) for k in range(450)])
    # the last second, when the reader has settled
    seconds = 1 + np.arange(len(read)) / 48_000
    tail = slice(-48_000, None)
    wave = np.exp(2j * np.pi * hertz * seconds[tail])
    amplitude = 2 * np.mean(read[tail] * wave.conj())
    late_ms = -np.angle(amplitude * 1j) / (2 * np.pi * hertz) * 1e3
    assert abs(late_ms) < 0.5 and abs(amplitude) == pytest.approx(1, abs=0.01)
    noise = read[tail] - np.real(amplitude * wave)
    assert 10 * np.log10(np.mean(read[tail] ** 2) / np.mean(noise**2)) > 25


def test_higher_tones_than_the_reader_can_have_do_not_fold_back() -> None:
    tape = Tape(96_000)
    fill(tape, 3, hertz=30_000, jitter_s=0)
    playhead = Playhead(tape, 48_000)
    read = np.concatenate([playhead.read(START + round((1 + k * 0.02) * 1e9), 960) for k in range(50)])
    assert np.abs(read).max() < 0.02


def test_lost_samples_become_silence_and_what_follows_is_in_time() -> None:
    tape = Tape(48_000)
    one = np.full(480, 0.5, np.float32)
    for number in range(300):
        lost_s = 0.25 if number >= 100 else 0.0
        tape.append(one, START + round((number * 0.01 + lost_s) * 1e9))
    now_ns = START + round((300 * 0.01 + 0.25) * 1e9)
    assert tape.reaches(now_ns - 2_000_000) and not tape.reaches(now_ns + 2_000_000)


def test_a_single_late_stamp_changes_nothing() -> None:
    tape = Tape(48_000)
    for number in range(300):
        late_s = 0.2 if number % 50 == 49 else 0.0
        tape.append(np.zeros(480, np.float32), START + round((number * 0.01 + late_s) * 1e9))
    assert abs(tape.drift) < 1e-6


def test_what_is_not_there_is_silence() -> None:
    tape = Tape(48_000, seconds=2)
    playhead = Playhead(tape, 48_000)
    assert not playhead.read(START, 960).any() and not tape.reaches(START)
    fill(tape, 5, hertz=440)
    assert not Playhead(tape, 48_000).read(START + 10**9, 960).any()  # too old
    assert not Playhead(tape, 48_000).read(START + 6 * 10**9, 960).any()  # not yet
    assert Playhead(tape, 48_000).read(START + 4 * 10**9, 960).any()


def test_a_reader_follows_a_change_of_place_smoothly() -> None:
    tape = Tape(48_000)
    fill(tape, 10, hertz=200, jitter_s=0)
    playhead = Playhead(tape, 48_000, jump_s=0.5)
    blocks, delay_s = [], 1.0
    for k in range(800):
        delay_s = 1.0 if k < 100 else 1.03  # pictures are 30 ms later from then on
        blocks.append(playhead.read(START + round((2 + k * 0.01 - delay_s) * 1e9), 480))
    read = np.concatenate(blocks)
    assert np.abs(np.diff(read)).max() < 1.02 * 2 * np.pi * 200 / 48_000 * 1.005  # nowhere a click
    age = playhead.age_s(START + 10 * 10**9)
    assert age == pytest.approx(1.03, abs=0.002)
