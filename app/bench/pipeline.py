"""`kawari bench pipeline`: what a frame costs, by stage, and how that grows.

All costs are CPU time of the whole process, given as multiples of one full-frame 720p
`cv2.warpAffine` measured between the frames of the same run: such ratios carry over from machine
to machine, milliseconds do not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.bench.cost import Meter, WarpReference
from app.bench.making import Maker
from app.bench.report import Report, Value
from app.bench.scene import Scene
from engine.config import Who
from engine.types import Shown

MAIN = Scene(1280, 720, 350)
SIZES = (Scene(854, 480, 250), Scene(1280, 720, 250), Scene(1920, 1080, 250), Scene(3840, 2160, 250))
FACES = tuple(Scene(1920, 1080, 250, faces) for faces in (1, 2, 4))
WIDTHS = tuple(Scene(1280, 720, face) for face in (125, 250, 350, 430))
STAGES = ("track", "swap", "blend", "mark")
LOOP = 24
"""Different frames in a scene; fewer where they are large."""
WARM_UP = 12


@dataclass(frozen=True, slots=True)
class Cost:
    """What a frame of a scene costs.

    Attributes:
        stages: CPU ms a frame; `blend` is everything between the other stages: choice, proof,
            blending, guard, the copy of the frame.
        total: CPU ms a frame, the sum.
        reference: CPU ms of the reference warp, measured between the frames.
        fps: frames per second of wall time, one after the other.
        swapped: share of frames in which every face was swapped.
    """

    stages: dict[str, float]
    total: float
    reference: float
    fps: float
    swapped: float

    @property
    def ratio(self) -> float:
        """Total over the reference."""
        return self.total / self.reference


def measure(maker: Maker, scene: Scene, frames: int, who: Who) -> Cost:
    """Run a scene through the pipeline; the median frame counts."""
    meter = Meter()
    pipeline, reference = maker.pipeline(who, meter), WarpReference()
    loop = scene.frames(LOOP if scene.width < 3000 else 8)
    totals, warps, parts = [], [], []
    swapped, wall = 0, 0.0
    for number in range(WARM_UP + frames):
        frame = loop[number % len(loop)]
        meter.spent.clear()
        began, clock = time.process_time(), time.perf_counter()
        output = pipeline.process(frame)
        spent = time.process_time() - began
        if number < WARM_UP:
            continue
        wall += time.perf_counter() - clock
        swapped += output.shown is Shown.SWAPPED and len(output.swapped) >= scene.faces
        totals.append(spent)
        parts.append([meter.spent.get(stage, 0.0) for stage in ("track", "swap", "mark")])
        warps.append(reference.seconds())
    track, swap, mark = (float(value) * 1e3 for value in np.mean(parts, axis=0))
    total = float(np.median(totals)) * 1e3
    known = track + swap + mark
    scale = total / (float(np.mean(totals)) * 1e3)  # means add up, the median is steadier
    stages = {
        "track": track * scale,
        "swap": swap * scale,
        "blend": total - known * scale,
        "mark": mark * scale,
    }
    return Cost(stages, total, float(np.median(warps)) * 1e3, frames / wall, swapped / frames)


def run(maker: Maker, frames: int, scaling: bool, progress: Callable[[str], None]) -> Report:
    """Measure everything; `scaling` adds the tables over frame size, face size and number of faces."""
    report = Report("pipeline")
    progress(MAIN.name)
    main = measure(maker, MAIN, frames, Who.LARGEST)
    rows: list[list[Value]] = [
        [stage, main.stages[stage], main.stages[stage] / main.reference, main.stages[stage] / main.total]
        for stage in STAGES
    ]
    rows.append(["all", main.total, main.ratio, 1.0])
    report.table(
        f"by stage, {MAIN.name}, one face of {MAIN.face} px",
        ("stage", "CPU ms", "× warp", "share"),
        rows,
    )
    report.figures |= {
        "ratio": main.ratio,
        "ratio_unmarked": (main.total - main.stages["mark"]) / main.reference,
        "reference_ms": main.reference,
        "frame_ms": main.total,
        "fps": main.fps,
        "frames_per_cpu_second": 1e3 / main.total,
        "swapped": main.swapped,
    }
    if scaling:
        _scaling(report, maker, max(frames // 3, 12), progress)
    report.notes += [
        "× warp: CPU time over that of one full-frame 720p cv2.warpAffine (u8, linear, one thread);",
        "fps: wall time, one frame after the other, so other work on the machine lowers it;",
        "frames_per_cpu_second is what it would be on one core of its own.",
    ]
    return report


def _scaling(report: Report, maker: Maker, frames: int, progress: Callable[[str], None]) -> None:
    def rows(scenes: tuple[Scene, ...], first: Callable[[Scene], Value], who: Who) -> list[list[Value]]:
        found: list[list[Value]] = []
        for scene in scenes:
            progress(f"{scene.name}, {scene.faces} × {scene.face} px")
            cost = measure(maker, scene, frames, who)
            ratios = [cost.stages[stage] / cost.reference for stage in STAGES]
            found.append([first(scene), *ratios, cost.ratio, cost.swapped])
        return found

    columns = (*(f"{stage} × warp" for stage in STAGES), "all × warp", "swapped")
    by_size = rows(SIZES, lambda scene: scene.name, Who.LARGEST)
    by_face = rows(WIDTHS, lambda scene: scene.face, Who.LARGEST)
    by_number = rows(FACES, lambda scene: scene.faces, Who.ALL)
    report.table(f"by frame size, one face of {SIZES[0].face} px", ("frame", *columns), by_size)
    report.table(f"by face width, {WIDTHS[0].name}", ("face px", *columns), by_face)
    report.table(f"by number of faces of {FACES[0].face} px, {FACES[0].name}", ("faces", *columns), by_number)
    unmarked = [float(row[5] or 0) - float(row[4] or 0) for row in by_size]
    report.figures["growth_4k_over_720p"] = unmarked[3] / unmarked[1]
    per_face = [float(row[5] or 0) - float(row[4] or 0) for row in by_number]
    report.figures["growth_4_faces_over_1"] = per_face[2] / per_face[0]
