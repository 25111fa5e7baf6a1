"""The ring in shared memory: the newest whole picture, never a torn one, nothing left behind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.shared_memory import SharedMemory

import numpy as np
import pytest

from engine.sinks.ring import Ring
from tests.conftest import ROOT


@pytest.fixture
def ring() -> Iterator[Ring]:
    ring = Ring.create(64, 36)
    yield ring
    ring.close()
    ring.unlink()


def write(ring: Ring, value: int) -> None:
    with ring.writing() as slot:
        slot[:] = value


def test_reader_gets_the_newest_once(ring: Ring) -> None:
    other = Ring.attach(ring.name)
    into = np.empty((36, 64, 3), np.uint8)
    assert other.read(0, into) == 0
    for value in range(1, 11):
        write(ring, value)
    assert other.read(0, into) == 10 and (into == 10).all()
    assert other.read(10, into) == 0
    write(ring, 11)
    assert other.read(10, into) == 11 and (into == 11).all()
    other.close()


def test_the_card_is_no_picture(ring: Ring) -> None:
    ring.card[:] = 77
    for value in range(9):
        write(ring, value)
    other = Ring.attach(ring.name)
    assert (other.card == 77).all() and other.latest == 9
    other.close()


def test_a_picture_being_written_is_not_seen(ring: Ring) -> None:
    into = np.empty((36, 64, 3), np.uint8)
    for value in range(1, 6):
        write(ring, value)
    with ring.writing() as slot:
        slot[:18] = 200
        assert ring.read(0, into) == 5 and (into == 5).all()
    assert ring.read(5, into) == 6


def test_a_slot_overwritten_while_it_is_the_newest_is_refused() -> None:
    """With one slot the writer always writes where the reader reads."""
    ring = Ring.create(64, 36, slots=1)
    into = np.empty((36, 64, 3), np.uint8)
    write(ring, 1)
    with ring.writing() as slot:
        slot[:18] = 2
        assert ring.read(0, into) == 0
    assert ring.read(0, into) == 2
    ring.close()
    ring.unlink()


def test_a_failed_write_is_not_published(ring: Ring) -> None:
    into = np.empty((36, 64, 3), np.uint8)
    write(ring, 1)
    with pytest.raises(RuntimeError), ring.writing() as slot:
        slot[:] = 99
        raise RuntimeError
    assert ring.read(0, into) == 1 and (into == 1).all()
    write(ring, 2)
    assert ring.read(1, into) == 2 and (into == 2).all()


WRITER = """
import sys
from engine.sinks.ring import Ring
ring = Ring.attach(sys.argv[1])
for n in range(1, int(sys.argv[2]) + 1):
    with ring.writing() as slot:
        slot[:] = n % 251
ring.close()
"""


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_no_torn_picture_under_stress(slots: int) -> None:
    """Another process writes uniform pictures as fast as it can; each one that is read is uniform."""
    width, height, pictures = 320, 240, 20_000
    ring = Ring.create(width, height, slots)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, ring.name, str(pictures)], cwd=ROOT)
    into = np.empty((height, width, 3), np.uint8)
    last = taken = 0
    while writer.poll() is None or ring.latest > last:
        number = ring.read(last, into)
        if number:
            assert number > last
            assert (into == number % 251).all(), f"picture {number} is torn"
            last, taken = number, taken + 1
    assert writer.returncode == 0 and last == pictures and taken > 0
    ring.close()
    ring.unlink()


def test_a_reader_that_ends_does_not_remove_the_memory(ring: Ring) -> None:
    """Python before 3.13 takes every opener for an owner."""
    write(ring, 5)
    code = f"from engine.sinks.ring import Ring; r = Ring.attach({ring.name!r}); print(r.latest); r.close()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1" and done.stderr == ""
    SharedMemory(ring.name).close()


def test_a_stranger_is_refused() -> None:
    with pytest.raises(FileNotFoundError):
        Ring.attach("kawari_not_there")
    memory = SharedMemory(create=True, size=8192)
    try:
        with pytest.raises(ValueError, match="not a picture ring"):
            Ring.attach(memory.name)
    finally:
        memory.close()
        memory.unlink()
