"""Recordings that are killed: `python -m tests.doomed FOLDER COUNT SEED` prints what each had written.

Everything is imported once; each recording is a fork that records the claps' pictures and a microphone in
real time until it gets SIGKILL at a moment drawn at random, some of them into files of a second each.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import struct
import sys
import time
from pathlib import Path

from engine.capabilities.encoders import h264_encoders
from engine.sinks.base import StreamInfo
from engine.sinks.encoder import Codec
from engine.sinks.recorder import Recorder
from engine.sinks.split import Split
from engine.types import Frame, Output
from tests.claps import DriftingMicrophone
from tests.make_clip import moving

FPS = 30
AT_ONCE = 17
EARLIEST_S, LATEST_S = 1.0, 4.0
SUFFIXES = (".mp4", ".mkv", ".mov")
SOFTWARE = next(one for one in h264_encoders() if not one.maker and not one.trouble)


def record(path: Path, split: Split, pipe: int) -> None:
    """Record for ever; say after each picture how much of the recording is written, seconds."""
    images = moving(100, 192, 108)
    begin = time.monotonic_ns()
    microphone = DriftingMicrophone(begin - 500_000_000, lambda seconds: 1e-4, [])
    codec = Codec(SOFTWARE.name, dict(SOFTWARE.options), odd_sizes=False)
    recorder = Recorder(path, codec=codec, microphone=microphone, split=split)
    recorder.open(StreamInfo(192, 108, FPS, live=True))
    number = 0
    while True:
        captured = begin + number * 1_000_000_000 // FPS
        time.sleep(max(0.0, (captured - time.monotonic_ns()) / 1e9))
        microphone.advance(time.monotonic_ns())
        image = images[number % len(images)]
        recorder.write(Output(Frame(number, captured, image), image))
        number += 1
        os.write(pipe, struct.pack("d", number / FPS))


def doom(folder: Path, number: int, rng: random.Random) -> tuple[int, tuple[int, float, Path]]:
    """Fork a recording: its pipe; its process, how much it may record, its file."""
    path = folder / f"{number}{SUFFIXES[number % len(SUFFIXES)]}"
    split = Split(seconds=1) if number % 2 else Split()
    source, target = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            record(path, split, target)
        finally:
            os._exit(1)
    os.close(target)
    return source, (child, rng.uniform(EARLIEST_S, LATEST_S), path)


def main() -> None:
    folder, count, rng = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    for first in range(0, count, AT_ONCE):
        alive = dict(doom(folder, number, rng) for number in range(first, min(first + AT_ONCE, count)))
        while alive:
            for source in select.select(list(alive), [], [])[0]:
                said = os.read(source, 1 << 16)
                child, may, path = alive[source]
                if written(said) < may:
                    continue
                time.sleep(rng.uniform(0, 1 / FPS))  # in the midst of whatever it does
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                while more := os.read(source, 1 << 16):
                    said += more
                os.close(source)
                del alive[source]
                print(json.dumps({"path": str(path), "written": written(said)}), flush=True)


def written(said: bytes) -> float:
    """The last that a recording said."""
    (seconds,) = struct.unpack("d", said[-8:])
    return float(seconds)


if __name__ == "__main__":
    main()
