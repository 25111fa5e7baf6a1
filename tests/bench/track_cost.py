"""CPU time of tracking one face, against one full-frame warp of the same picture.

    python -m tests.bench.track_cost

The face is 350 pixels wide in 1280×720, moves, turns and is noisy. CPU time of the one thread that
everything runs on, in units of `cv2.warpAffine` on the 720p picture (uint8, linear, one thread),
measured in the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import cv2
import numpy as np
import skimage.data

from engine.track.appearance import AppearanceEncoder
from engine.track.detector import Detector
from engine.track.flow import carry
from engine.track.landmarks import Landmarker, cut, region_from_landmarks
from engine.track.smoothing import OneEuro
from engine.track.tracker import Tracker, TrackOptions
from engine.types import Frame, Image

WIDTH = 350


def frames(count: int) -> list[Image]:
    """A portrait that sways, 1280×720, with camera noise."""
    portrait = np.ascontiguousarray(skimage.data.astronaut()[..., ::-1])
    random = np.random.default_rng(0)
    noise = random.normal(0, 2, (720, 1280, 3)).astype(np.int16)
    found = []
    for index in range(count):
        matrix = cv2.getRotationMatrix2D((224, 123), 6 * np.sin(index / 9), WIDTH / 92)
        matrix[:, 2] += (640 + 60 * np.sin(index / 11) - 224, 330 - 123)
        image = cv2.warpAffine(portrait, matrix, (1280, 720), flags=cv2.INTER_CUBIC)
        image = np.clip(image + np.roll(noise, index * 7, 0), 0, 255)
        found.append(image.astype(np.uint8))
    return found


def cpu_ms(work: Callable[[], object], repeats: int = 60) -> float:
    """Median CPU milliseconds of one call."""
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time_ns()
        work()
        times.append(time.process_time_ns() - start)
    return float(np.median(times)) / 1e6


def main() -> None:
    """Print the table."""
    cv2.setNumThreads(1)
    images = frames(60)
    matrix = np.array([[0.99, 0.02, 3.3], [-0.02, 0.99, 5.7]])
    unit = cpu_ms(lambda: cv2.warpAffine(images[0], matrix, (1280, 720)))
    detector, landmarker = Detector(), Landmarker()
    fast = Landmarker(fast=True)

    def tracked(options: TrackOptions, network: Landmarker) -> float:
        tracker = Tracker(detector, network, options)
        clock = iter(range(10**6))

        def step() -> None:
            index = next(clock)
            tracker.update(
                Frame(index, 0, images[index % 60 if index // 60 % 2 == 0 else 59 - index % 60], index / 30)
            )

        for _ in range(20):
            step()
        start = time.process_time_ns()
        for _ in range(120):
            step()
        return (time.process_time_ns() - start) / 120e6

    tracker = Tracker(detector, landmarker)
    points = tracker.update(Frame(0, 0, images[0], 0.0))[0].landmarks
    region = region_from_landmarks(points)
    smooth, encoder = OneEuro(), AppearanceEncoder()
    clock = iter(range(10**6))
    rows = {
        "tracked frame, 478 points, all together": tracked(TrackOptions(), landmarker),
        "tracked frame, one face only": tracked(TrackOptions(max_faces=1), landmarker),
        "tracked frame, fast 468 points": tracked(TrackOptions(max_faces=1), fast),
        "detector": cpu_ms(lambda: detector.detect(images[0])),
        "landmarks, 478": cpu_ms(lambda: landmarker.locate(images[0], region)),
        "landmarks, 468": cpu_ms(lambda: fast.locate(images[0], region)),
        "of which the crop": cpu_ms(lambda: cut(images[0], region, 192)),
        "smoothing": cpu_ms(lambda: smooth(points, 350, next(clock) / 30)),
        "optical flow (only where needed)": cpu_ms(lambda: carry(images[0], images[1], points)),
        "appearance (every 6th frame)": cpu_ms(lambda: encoder.encode(images[0], points)),
    }
    print(f"warpAffine 1280×720: {unit:.2f} ms CPU\n")
    print("| stage | ms CPU | × warpAffine |\n|---|---|---|")
    for name, value in rows.items():
        print(f"| {name} | {value:.2f} | {value / unit:.2f} |")


if __name__ == "__main__":
    main()
