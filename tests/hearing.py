"""Parts of `test_sound_server` that need PortAudio: `python -m tests.hearing PART …` prints JSON.

A mouth plays clicks into the microphone and notes when each leaves; what is heard is compared with that.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from engine.config import GuardConfig, GuardPolicy, SessionConfig
from engine.events import Report
from engine.live.session import Session
from engine.pipeline import Pipeline, Plan
from engine.sinks.base import StreamInfo
from engine.sinks.monitor import Monitor
from engine.sinks.recorder import Recorder
from engine.sound.devices import list_microphones, list_speakers, portaudio
from engine.sound.microphone import Microphone, stamp
from engine.sources.base import SourceInfo
from engine.sources.demo.source import DemoSource
from engine.types import Face, Frame, Output
from tests.claps import click
from tests.scripted import Script, World, pipeline_parts

RATE = 48_000
EVERY_S = 0.7


class Mouth:
    """Clicks every 0.7 s; `left` are about the times at which they left it, `time.monotonic_ns()`."""

    def __init__(self) -> None:
        self.left: list[int] = []
        self._played = 0
        self._stamps: list[tuple[int, int]] = []
        self._stream = portaudio().OutputStream(
            samplerate=RATE, device="mouth", channels=1, dtype="float32", blocksize=480, latency="high",
            callback=self._speak,
        )  # fmt: skip
        self._stream.start()

    def _speak(self, block: Any, count: int, times: Any, status: object) -> None:
        at_ns = stamp(self._stream, times.outputBufferDacTime, self._stream.latency)
        self._stamps.append((self._played, at_ns))
        every = round(EVERY_S * RATE)
        places = self._played + np.arange(count)
        block[:, 0] = click((places % every) / RATE)
        for place in np.flatnonzero(places % every == 0):
            self.left.append(at_ns + round(int(place) / RATE * 1e9))
        self._played += count

    def close(self) -> list[int]:
        """When the clicks really left: each by the usual of the stamps within half a second, which jitter."""
        self._stream.close()
        indexes, stamps = np.array(self._stamps).T
        shifts = stamps - indexes * (1e9 / RATE)
        clicks = np.arange(0, self._played, round(EVERY_S * RATE))
        near = [np.median(shifts[np.abs(indexes - at) < RATE / 2]) for at in clicks]
        return [round(at * 1e9 / RATE + shift) for at, shift in zip(clicks, near, strict=True)]


class Ear:
    """Notes when clicks come out of the monitor, `time.monotonic_ns()`."""

    def __init__(self) -> None:
        self.heard: list[int] = []
        self._stream = portaudio().InputStream(
            samplerate=RATE, device="ear", channels=1, dtype="float32", blocksize=480, latency="high",
            callback=self._hear,
        )  # fmt: skip
        self._stream.start()

    def _hear(self, block: Any, count: int, times: Any, status: object) -> None:
        at_ns = stamp(self._stream, times.inputBufferAdcTime, -count / RATE - self._stream.latency)
        peak = int(np.abs(block[:, 0]).argmax())
        found = at_ns + round((peak / RATE - 0.002) * 1e9)  # a click is loudest 2 ms after its begin
        if abs(block[peak, 0]) > 0.4 and not (self.heard and found - self.heard[-1] < 100_000_000):
            self.heard.append(found)

    def close(self) -> None:
        self._stream.close()


class FlashingCamera:
    """The demo camera; the first picture after each click is white."""

    def __init__(self, mouth: Mouth) -> None:
        self.flashes: dict[int, int] = {}
        self._mouth, self._camera = mouth, DemoSource((320, 180), 30)

    def open(self) -> SourceInfo:
        return self._camera.open()

    def read(self) -> Frame | None:
        frame = self._camera.read()
        if frame is None:
            return None
        due = sum(at <= frame.captured_ns for at in self._mouth.left) - 1
        if due >= 0 and due not in self.flashes:
            self.flashes[due] = frame.captured_ns
            frame = Frame(frame.id, frame.captured_ns, np.full_like(frame.image, 255))
        return frame

    def close(self) -> None:
        self._camera.close()


class SlowTracker:
    """Sees nobody, and takes its time: the pictures are late by 60 ms and more."""

    look_age_ns = 0

    def reset(self) -> None:
        pass

    def update(self, frame: Frame) -> tuple[Face, ...]:
        time.sleep(0.06 if frame.id % 2 else 0.02)
        return ()


def record(path: Path, seconds: float) -> None:
    """A session records camera and microphone: the flashes' clicks and their pictures' times."""
    mouth = Mouth()
    camera = FlashingCamera(mouth)

    def build(plan: Plan, report: Report) -> Pipeline:
        _, swapper, marker = pipeline_parts(World(), Script())
        return Pipeline(SlowTracker(), swapper, plan, marker=marker, report=report)

    warnings: list[str] = []
    recorder = Recorder(path, microphone=Microphone("microphone"), warn=warnings.append)
    config = SessionConfig(guard=GuardConfig(policy=GuardPolicy.PASS))
    with Session(config, camera, [recorder], identity=object(), build=build) as session:
        time.sleep(seconds)
        delay = session.stats().delay
    recorder.wait(10)
    left = mouth.close()
    flashes = [(left[number], captured) for number, captured in camera.flashes.items()]
    print(json.dumps({"flashes": flashes, "delay": [delay.p50, delay.p95], "warnings": warnings}))


def monitor(*delays_ms: float) -> None:
    """The monitor follows pictures that are late by this: when clicks left, and when they came out."""
    mouth, ear, sink = Mouth(), Ear(), Monitor(Microphone("microphone"), "speaker")
    sink.open(StreamInfo(96, 72, 30, live=True))
    image, marked, spans = np.zeros((72, 96, 3), np.uint8), np.ones((72, 96, 3), np.uint8), []
    for delay_ms in delays_ms:
        until = time.monotonic() + (12 if not spans else 10)
        while time.monotonic() < until:
            time.sleep(1 / 30)
            frame = Frame(0, time.monotonic_ns() - round(delay_ms * 1e6), image)
            sink.write(Output(frame, marked))
        spans.append(time.monotonic_ns())
    shown = sink.delay_s
    sink.close()
    ear.close()
    print(json.dumps({"left": mouth.close(), "heard": ear.heard, "ends": spans, "shown": shown}))


def names() -> None:
    """What is found."""
    print(json.dumps([[one.name for one in found] for found in (list_microphones(), list_speakers())]))


if __name__ == "__main__":
    part, arguments = sys.argv[1], sys.argv[2:]
    if part == "record":
        record(Path(arguments[0]), float(arguments[1]))
    elif part == "monitor":
        monitor(*map(float, arguments))
    else:
        names()
    threads = [one.name for one in threading.enumerate() if not one.daemon and one.name != "MainThread"]
    assert not threads, threads
