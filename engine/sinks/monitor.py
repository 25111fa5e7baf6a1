"""The voice, as late as the picture: for a program that takes sound and picture separately."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from engine.errors import DeviceError
from engine.metrics import Recent
from engine.sinks.base import StreamInfo
from engine.sound.clock import SampleClock
from engine.sound.devices import SoundDevice, find_speaker, portaudio, sound_errors
from engine.sound.microphone import BLOCK_S, Listening, stamp
from engine.sound.tape import Playhead, Tape
from engine.types import Output

_JUMP_S = 0.06
"""A delay that changes by more is taken up at once; less is followed at half a percent of speed."""


class Monitor:
    """A sink that plays a microphone late by the delay of the pictures it gets, which it follows smoothly.

    Pictures come to all live sinks equally late, so their age here is their age at the virtual camera.
    Sound that would have to be earlier than microphone and output allow is as early as they do.

    Args:
        microphone: what is played.
        device: the output's number or name; "" for the system's own.

    Attributes:
        delay_s: how late the sound is that is played now, seconds; None before the first picture.
    """

    name = "monitor"

    def __init__(self, microphone: Listening, device: str = "") -> None:
        self._microphone, self._device = microphone, device
        self._stream: Any = None
        self._age = Recent()
        self.delay_s: float | None = None

    def open(self, stream: StreamInfo) -> None:
        """Start playing.

        Raises:
            DeviceError: microphone or output are missing, in use or not allowed.
        """
        self._age, self.delay_s = Recent(), None
        found = find_speaker(self._device)
        tape = self._microphone.open()
        try:
            with sound_errors(f"The sound output {found.name}"):
                self._stream = self._play(found, tape)
                self._stream.start()
        except BaseException:
            self.close()
            raise

    def write(self, output: Output) -> None:
        """Learn how late pictures are now. Raises `DeviceError` if the output is gone."""
        if output.image is not output.frame.image:  # a card of the session has no capture time
            self._age.record(time.monotonic_ns() - output.frame.captured_ns)
        if self._stream is not None and not self._stream.active:
            raise DeviceError("The sound output is gone", "Plug it in again, or choose another one")

    def close(self) -> None:
        """Stop playing."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
        self._microphone.close()

    def _play(self, speaker: SoundDevice, tape: Tape) -> Any:
        playhead, clock, played = Playhead(tape, speaker.rate, _JUMP_S), SampleClock(speaker.rate), 0
        least = _Peak()

        def play(block: Any, count: int, times: Any, status: object) -> None:
            nonlocal played
            clock.update(played, stamp(stream, times.outputBufferDacTime, stream.latency))
            first, played = played, played + count
            if not (self._age.usual_ns and tape.started and clock.started):
                block[:] = 0
                return
            begin_ns, end_ns = clock.time_at(first), clock.time_at(played)
            # what has not been said yet can't be played: the devices' own delay is the least there can be
            least.add(end_ns - tape.newest_ns, end_ns)
            late_ns = max(self._age.usual_ns, least.value)
            age_s = playhead.age_s(begin_ns)
            if age_s is not None and begin_ns - age_s * 1e9 + (end_ns - begin_ns) > tape.newest_ns:
                playhead.jump()
            block[:] = playhead.read(round(begin_ns - late_ns), count)[:, np.newaxis]
            self.delay_s = playhead.age_s(end_ns)

        stream = portaudio().OutputStream(
            samplerate=speaker.rate, device=speaker.index, channels=1, dtype="float32",
            blocksize=round(speaker.rate * BLOCK_S), latency="high", callback=play,
        )  # fmt: skip
        return stream


class _Peak:
    """The largest of the last two and a half to five seconds."""

    def __init__(self) -> None:
        self._now = self._before = -float("inf")
        self._since_ns = 0.0

    def add(self, value: float, at_ns: float) -> None:
        """Count one value at a time that grows."""
        if at_ns - self._since_ns > 2.5e9:
            self._since_ns, self._before, self._now = at_ns, self._now, -float("inf")
        self._now = max(self._now, value)

    @property
    def value(self) -> float:
        """The largest."""
        return max(self._now, self._before)
