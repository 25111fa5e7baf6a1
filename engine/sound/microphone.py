"""A microphone, put on tape while somebody needs it."""

from __future__ import annotations

import threading
import time
from typing import Any, Protocol

from engine.sound.devices import find_microphone, portaudio, sound_errors
from engine.sound.tape import Tape

BLOCK_S = 0.01
"""Length of a block: short enough that waiting for one does not matter. The buffers behind it are long
(PortAudio's "high" latency), since the swap may keep the processor from the sound for a while."""


class Listening(Protocol):
    """What recorder and monitor need of a microphone."""

    def open(self) -> Tape:
        """Start listening, if nobody else has; the tape grows from now on. Raises `DeviceError`."""
        ...

    def close(self) -> None:
        """Stop listening, if nobody else still does."""
        ...


class Microphone:
    """A microphone that several may listen to: it is opened for the first and closed after the last.

    Sound is taken as one channel at the device's own rate; where it is unplugged the tape grows no more.

    Args:
        device: number or name; "" for the system's own.
    """

    def __init__(self, device: str = "") -> None:
        self._device = device
        self._lock = threading.Lock()
        self._users = 0
        self._stream: Any = None
        self._tape: Tape | None = None

    def open(self) -> Tape:
        """See `Listening`.

        Raises:
            DeviceError: there is no such microphone, it is in use or not allowed, or PortAudio is missing.
        """
        with self._lock:
            if self._tape is None:
                self._start()
            assert self._tape is not None
            self._users += 1
            return self._tape

    def close(self) -> None:
        """See `Listening`."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._tape = None
                stream, self._stream = self._stream, None
                stream.close()

    def _start(self) -> None:
        found = find_microphone(self._device)
        tape = Tape(found.rate)

        def hear(block: Any, count: int, times: Any, status: object) -> None:
            late_s = -count / found.rate - stream.latency
            tape.append(block[:, 0], stamp(stream, times.inputBufferAdcTime, late_s))

        with sound_errors(f"The microphone {found.name}"):
            stream = portaudio().InputStream(
                samplerate=found.rate, device=found.index, channels=1, dtype="float32",
                blocksize=round(found.rate * BLOCK_S), latency="high", callback=hear,
            )  # fmt: skip
            self._stream = stream
            try:
                stream.start()
            except BaseException:
                self._stream = None
                stream.close()
                raise
        self._tape = tape


def stamp(stream: Any, device_s: float, otherwise_s: float) -> int:
    """A stream's time as `time.monotonic_ns()`, told inside its callback.

    Both clocks are read in the same moment, so that it does not matter how long Python was waited for.

    Args:
        stream: sounddevice's.
        device_s: time of the stream, seconds; 0 where the system's interface does not tell it.
        otherwise_s: then so far from now, seconds.
    """
    now_ns = time.monotonic_ns()
    ahead_s = float(device_s - stream.time) if device_s > 0 else otherwise_s
    return now_ns + round(ahead_s * 1e9)
