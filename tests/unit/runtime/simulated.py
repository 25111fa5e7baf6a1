"""A device on paper: copies and work take the time they are given, on streams that run side by side.

It computes with NumPy on the host, but as strictly as a GPU: its arrays don't mix with the host's, and
reading one on the host, or making one from the host's numbers, other than by `upload`, `download` and
`keep` is an error.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from engine.runtime.device import STREAMS, HostDevice

_TICK_S = 1e-8


def _refuse(*_: Any) -> Any:
    raise AssertionError("a copy between host and device that nobody asked for")


def _bare(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_bare(each) for each in value)
    if type(value) is np.ndarray and value.ndim:
        _refuse()
    return value.view(np.ndarray) if isinstance(value, Remote) else value


def remote(value: Any) -> Any:
    return np.asarray(value).view(Remote) if isinstance(value, np.ndarray | np.generic) else value


class Remote(np.ndarray):
    """An array that lies on the device."""

    __float__ = __int__ = __bool__ = __index__ = item = tolist = _refuse  # type: ignore[assignment]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return remote(getattr(ufunc, method)(*map(_bare, inputs), **kwargs))

    def __array_function__(self, function: Any, types_: Any, args: Any, kwargs: Any) -> Any:
        return remote(function(*(_bare(each) for each in args), **kwargs))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.view(np.ndarray)[_bare(key)] = _bare(value)

    def __getitem__(self, key: Any) -> Any:
        return remote(self.view(np.ndarray)[_bare(key)])


for _name in ("max", "min", "sum", "all"):

    def _reduce(self: Remote, *args: Any, _name: str = _name, **kwargs: Any) -> Any:
        return remote(getattr(self.view(np.ndarray), _name)(*args, **kwargs))

    setattr(Remote, _name, _reduce)


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name in ("asarray", "array", "ascontiguousarray", "copyto"):
            return _refuse
        found = getattr(np, name)
        if isinstance(found, type) or not callable(found):
            return found
        return lambda *args, **kwargs: remote(found(*args, **kwargs))


class SimulatedDevice(HostDevice):
    """Computes like the host, but keeps each stream's clock.

    Args:
        upload, compute, download: time of each, per frame.
        now, sleep: the host's clock, seconds; one of its own when not given.
    """

    name = "simulated"
    xp = _Module("remote")

    def __init__(
        self,
        upload: float = 0.0,
        compute: float = 0.0,
        download: float = 0.0,
        *,
        now: Callable[[], float] | None = None,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        super().__init__()
        self.cost = dict(zip(STREAMS, (upload, compute, download), strict=True))
        self.clock = dict.fromkeys(STREAMS, 0.0)
        self.host = 0.0
        self.faults: dict[str, Exception] = {}
        """What raises: a stream's name, "allocate", "synchronise" or "free"."""
        self._now = now or (lambda: self.host)
        self._sleep = sleep or self._pass
        self._user: int | None = None

    def _pass(self, seconds: float) -> None:
        self.host += seconds

    def _fail(self, where: str) -> None:
        if where in self.faults:
            raise self.faults[where]

    @contextmanager
    def _spent(self, stream: str) -> Iterator[None]:
        assert self._user in (None, threading.get_ident()), "two threads on one device"
        self._user = threading.get_ident()
        self._fail(stream)
        yield
        self._user = None
        begin = max(self.clock[stream], self._now())  # nothing runs before it was queued
        self.clock[stream] = begin + self.cost[stream]

    def on(self, stream: str) -> Any:
        return self._spent(stream)

    def record(self, stream: str) -> float:
        return self.clock[stream]

    def wait(self, stream: str, event: float) -> None:
        self.clock[stream] = max(self.clock[stream], event)

    def happened(self, event: float) -> bool:
        return "synchronise" in self.faults or event <= self._now() + _TICK_S

    def synchronise(self, event: float) -> None:
        self._fail("synchronise")
        while (left := event - self._now()) > _TICK_S:
            self._sleep(left)

    def empty(self, shape: tuple[int, ...], dtype: Any = np.uint8) -> Any:
        self._fail("allocate")
        return np.full(shape, 7, dtype).view(Remote)

    def keep(self, host: Any) -> Any:
        return host.copy().view(Remote)

    def upload(self, host: Any, device: Any) -> None:
        super().upload(host, device.view(np.ndarray))

    def download(self, device: Any, host: Any) -> None:
        super().download(device.view(np.ndarray), host)

    def free(self) -> None:
        self._fail("free")
