from __future__ import annotations

import threading
import time

import pytest

from engine.overlap import Behind, ahead


def test_order_is_kept_and_the_queue_bounded() -> None:
    made: list[int] = []

    def numbers() -> object:
        for i in range(50):
            made.append(i)
            yield i

    seen = []
    with ahead(numbers(), 3) as items:  # type: ignore[arg-type]
        time.sleep(0.1)
        assert len(made) <= 5
        seen = list(items)
    assert seen == list(range(50))


def test_the_producers_error_arrives_in_its_place() -> None:
    def broken() -> object:
        yield 1
        raise ValueError("here")

    with ahead(broken(), 3) as items:  # type: ignore[arg-type]
        assert next(items) == 1
        with pytest.raises(ValueError, match="here"):
            next(items)


def test_leaving_early_stops_the_producer() -> None:
    before = threading.active_count()
    with ahead(iter(int, 1), 2) as items:
        next(items)
    assert threading.active_count() == before


def test_behind_consumes_everything_in_order() -> None:
    seen: list[int] = []
    with Behind(seen.append, 2) as behind:
        for i in range(20):
            behind.put(i)
    assert seen == list(range(20))


def test_behind_passes_the_consumers_error_on() -> None:
    def fail(_: int) -> None:
        raise OSError("full")

    def work() -> None:
        with Behind(fail, 1) as behind:
            for i in range(100):
                behind.put(i)

    with pytest.raises(OSError, match="full"):
        work()


def test_behind_abandons_what_waits_when_the_block_fails() -> None:
    seen: list[int] = []

    def slow(i: int) -> None:
        time.sleep(0.02)
        seen.append(i)

    def work() -> None:
        with Behind(slow, 10) as behind:
            for i in range(10):
                behind.put(i)
            raise KeyError("stop")

    with pytest.raises(KeyError):
        work()
    assert len(seen) < 5
