"""What the figures of a photo mean: faults that make it unusable, hints that would make it better.

The limits were set on portraits in good and bad light, with light and dark skin, each also blurred
and under-exposed step by step, and on group photos (docs/photos.md).
"""

from __future__ import annotations

from typing import NamedTuple

from engine.identity.quality import Measures

MIN_WIDTH = 90
"""Pixels; below, there are fewer than four pixels across an iris."""
GOOD_WIDTH = 200
MAX_YAW, GOOD_YAW = 40, 20
"""Degrees; beyond 40 the far cheek is out of sight."""
MAX_PITCH, GOOD_PITCH = 35, 20
MIN_SHARPNESS, GOOD_SHARPNESS = 0.2, 0.5
"""0.2 is what a blur with a standard deviation of 1 % of the face's width leaves of a sharp photo."""
MIN_HIGHLIGHT, GOOD_HIGHLIGHT = 0.3, 0.6
"""A portrait in good light has 0.65–0.95, with dark skin as with light; three stops below that,
noise takes over (0.3)."""
GOOD_EVENNESS = 0.6
MAX_BRIGHTNESS = 0.92


class Fault(NamedTuple):
    """Why a face can't be used.

    Attributes:
        what: completes "The face …".
        remedy: completes "Give a photo in which the face …".
    """

    what: str
    remedy: str


def faults(measures: Measures) -> tuple[Fault, ...]:
    """All reasons against a face; empty if it can be used."""
    found = []
    yaw, pitch, _ = measures.pose
    if round(measures.width) < MIN_WIDTH:
        what = f"is too small ({measures.width:.0f} px wide, {MIN_WIDTH} are needed)"
        found.append(Fault(what, f"is at least {MIN_WIDTH} px wide"))
    if abs(yaw) > MAX_YAW:
        what = f"is turned too far ({abs(yaw):.0f}° to the side, {MAX_YAW}° at most)"
        found.append(Fault(what, "looks into the camera"))
    elif abs(pitch) > MAX_PITCH:
        what = f"looks too far {_up_or_down(pitch)} ({abs(pitch):.0f}°, {MAX_PITCH}° at most)"
        found.append(Fault(what, "looks into the camera"))
    if measures.highlight < MIN_HIGHLIGHT:
        found.append(Fault("is too dark", "is well lit"))
    if measures.sharpness < MIN_SHARPNESS:
        found.append(Fault("is too blurred", "is in focus and still"))
    return tuple(found)


def hints(measures: Measures) -> tuple[str, ...]:
    """What would make a usable face a better source, each one sentence."""
    found = []
    yaw, pitch, _ = measures.pose
    if measures.width < GOOD_WIDTH:
        found.append(
            f"The face is {measures.width:.0f} px wide; from {GOOD_WIDTH} on, the skin keeps its detail."
        )
    if abs(yaw) > GOOD_YAW:
        found.append(
            f"The head is turned {abs(yaw):.0f}° to the side; one that looks into the camera is better."
        )
    if abs(pitch) > GOOD_PITCH:
        found.append(f"The head looks {_up_or_down(pitch)} by {abs(pitch):.0f}°; a level look is better.")
    if measures.highlight < GOOD_HIGHLIGHT:
        found.append("The photo is dark; more light gives cleaner colours.")
    if measures.brightness > MAX_BRIGHTNESS:
        found.append("The skin is over-exposed; less light shows its detail.")
    if measures.evenness < GOOD_EVENNESS:
        found.append("The light comes from one side; even light from the front gives the most natural swap.")
    if measures.sharpness < GOOD_SHARPNESS:
        found.append("The face is a little blurred; a sharper photo gives a sharper swap.")
    return tuple(found)


def _up_or_down(pitch: float) -> str:
    return "down" if pitch > 0 else "up"
