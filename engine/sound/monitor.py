"""The voice, as late as the picture: for a program that takes sound and picture separately."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.sound.clock import SampleClock
from engine.sound.devices import find_speaker, portaudio, sound_errors
from engine.sound.microphone import BLOCK_S, Listening, stamp
from engine.sound.tape import Playhead

_JUMP_S = 0.5
"""A delay that changes by more is taken up at once; less is followed at half a percent of speed."""


class Monitor:
    """Plays a microphone, late by the pictures' delay, which it follows smoothly.

    Args:
        microphone: what is played.
        device: the output's number or name; "" for the system's own.
        delay: the pictures' present delay, seconds; asked on the sound's thread, a hundred times a second.

    Attributes:
        delay_s: how late the sound is that is played now, seconds; None before the first.
    """

    def __init__(self, microphone: Listening, device: str, delay: Callable[[], float]) -> None:
        self._microphone, self._device, self._delay = microphone, device, delay
        self._stream: Any = None
        self.delay_s: float | None = None

    def open(self) -> None:
        """Start playing.

        Raises:
            DeviceError: microphone or output are missing, in use or not allowed.
        """
        found = find_speaker(self._device)
        tape = self._microphone.open()
        try:
            playhead = Playhead(tape, found.rate, _JUMP_S)
            clock, played = SampleClock(found.rate), 0

            def play(block: Any, count: int, times: Any, status: object) -> None:
                nonlocal played
                clock.update(played, stamp(stream, times.outputBufferDacTime, stream.latency))
                heard_ns = clock.time_at(played)
                block[:] = playhead.read(round(heard_ns - self._delay() * 1e9), count)[:, np.newaxis]
                played += count
                self.delay_s = playhead.age_s(heard_ns)

            with sound_errors(f"The sound output {found.name}"):
                stream = portaudio().OutputStream(
                    samplerate=found.rate, device=found.index, channels=1, dtype="float32",
                    blocksize=round(found.rate * BLOCK_S), latency="low", callback=play,
                )  # fmt: skip
                self._stream = stream
                stream.start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop playing."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
        self._microphone.close()
