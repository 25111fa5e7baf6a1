"""Facial expression as ARKit's blendshapes, from the 478 landmarks alone.

No network: distances on the face with pose and size taken out, against what is usual for this very face,
which is learnt while it is followed. Names and meanings are those of Apple's
`ARFaceAnchor.BlendShapeLocation`; "Left" and "Right" are the person's own. Left out are those that the
landmarks do not tell: cheekPuff, tongueOut, jawForward, mouthClose, mouthPress, mouthRoll,
mouthShrug.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engine.track.pose import Floats, Pose, angles, fit
from engine.track.topology import CANONICAL, LEFT_EYE, LEFT_IRIS, RIGHT_EYE, RIGHT_IRIS
from engine.types import Face

_UP, _OUT, _FRONT = np.array((0.0, -1.0, 0.0)), np.array((1.0, 0.0, 0.0)), np.array((0.0, 0.0, -1.0))
"""Directions on a face in canonical pose; `_OUT` for the left side, mirrored for the right."""

_CORNER_FOLLOWS, _LIP_FOLLOWS = 0.13, 0.19
"""How far the jaw takes the mouth's corners and the lower lip along, over the mouth's gap; measured on a
speaker's clip. What goes beyond is a frown or a lip drawn down."""
_SETTLE = 5.0
"""Weight, in frames, of where it begins: between the average face and the first frame's."""
_MEMORY = 900.0
"""Frames that what is usual is learnt over in the end: half a minute."""


@dataclass(frozen=True, slots=True)
class Expression:
    """One face in one frame.

    Attributes:
        shapes: ARKit's name → 0..1.
        pose: where the head looks.
        rotation: float64 (3, 3): from the head's axes to the picture's (x right, y down, z away).
    """

    shapes: Mapping[str, float]
    pose: Pose
    rotation: Floats


@dataclass(frozen=True, slots=True)
class _Measure:
    """How one measure becomes blendshapes.

    Attributes:
        usual: the share of frames in which it lies lower than on the neutral face: an eye is opened, and a
            mouth closed, for most of the time.
        rise, fall: blendshape that rises with it, and that falls; "" for none.
        full: what it differs from the neutral by where the blendshape is 1, above and below.
        dead: smaller differences are none.
        room: how far one person's neutral lies from the average face's at most, so that somebody who talks
            for minutes does not make an open mouth the usual one.
    """

    usual: float
    rise: str
    fall: str
    full: tuple[float, float]
    dead: float = 0.0
    room: float = 0.8


def _sided(side: str) -> dict[str, _Measure]:
    return {
        f"lids{side}": _Measure(0.9, "", f"eyeBlink{side}", (1, 0.24), 0, 0.1),
        f"open{side}": _Measure(0.5, f"eyeWide{side}", "", (0.14, 1), 0.02, 0.1),
        f"squint{side}": _Measure(0.4, f"eyeSquint{side}", "", (0.12, 1), 0.01, 0.2),
        f"innerBrow{side}": _Measure(0.4, f"innerUp{side}", f"browDown{side}", (0.7, 0.6), 0.03),
        f"outerBrow{side}": _Measure(0.4, f"browOuterUp{side}", "", (0.7, 1), 0.03),
        f"gazeOut{side}": _Measure(0.5, f"eyeLookOut{side}", f"eyeLookIn{side}", (0.22, 0.22), 0.01, 0.15),
        f"gazeUp{side}": _Measure(0.5, f"eyeLookUp{side}", f"eyeLookDown{side}", (0.14, 0.14), 0.01, 0.15),
        f"cornerUp{side}": _Measure(0.45, f"cornerUp{side}", f"mouthFrown{side}", (0.9, 0.8), 0.06),
        f"cornerOut{side}": _Measure(0.45, f"cornerOut{side}", "", (0.8, 1), 0.05),
        f"upperLip{side}": _Measure(0.3, f"mouthUpperUp{side}", "", (0.6, 1), 0.05),
        f"lowerLip{side}": _Measure(0.3, f"mouthLowerDown{side}", "", (0.9, 1), 0.08),
        f"cheek{side}": _Measure(0.4, f"cheekSquint{side}", "", (0.5, 1), 0.05),
        f"noseWing{side}": _Measure(0.4, f"noseSneer{side}", "", (0.4, 1), 0.05),
    }


_MEASURES: dict[str, _Measure] = {
    **_sided("Left"),
    **_sided("Right"),
    "mouthGap": _Measure(0.15, "jawOpen", "", (2.6, 1), 0.03, 0.15),
    "mouthWidth": _Measure(0.6, "", "narrow", (1, 1.6), 0.08),
    "lipsForward": _Measure(0.4, "forward", "", (0.7, 1), 0.05),
    "lipsLeft": _Measure(0.5, "mouthLeft", "mouthRight", (0.9, 0.9), 0.1),
    "chinLeft": _Measure(0.5, "jawLeft", "jawRight", (0.9, 0.9), 0.1),
}
_USUAL = np.array([one.usual for one in _MEASURES.values()])
_FULL = np.array([one.full for one in _MEASURES.values()])
_DEAD = np.array([one.dead for one in _MEASURES.values()])
_ROOM = np.array([one.room for one in _MEASURES.values()])
_REACH = np.minimum(_FULL.min(1), 1.5 * _ROOM)

NAMES: tuple[str, ...] = tuple(
    sorted(
        {
            name
            for one in _MEASURES.values()
            for name in (one.rise, one.fall)
            if name and not name.startswith(("innerUp", "corner", "narrow", "forward"))
        }
        | {
            "browInnerUp", "mouthSmileLeft", "mouthSmileRight", "mouthStretchLeft", "mouthStretchRight",
            "mouthDimpleLeft", "mouthDimpleRight", "mouthPucker", "mouthFunnel",
        }
    )
)  # fmt: skip
"""Every blendshape that is told, all in each frame."""


class ExpressionReader:
    """Reads the expression of one followed face, frame by frame; not thread-safe."""

    def __init__(self) -> None:
        self._neutral = _AVERAGE.copy()
        self._frames = 0.0

    def read(self, face: Face) -> Expression:
        """The expression in the next frame, from `face.landmarks` (478, 3)."""
        points = face.landmarks.astype(np.float64)
        scale, rotation, shift = fit(face.landmarks)
        measures = _measure((points - shift) @ rotation / scale)
        self._learn(measures, float(np.clip((rotation[2, 2] - 0.6) / 0.35, 0.05, 1)))
        return Expression(_shapes(measures - self._neutral), angles(rotation), rotation)

    def _learn(self, measures: Floats, frontal: float) -> None:
        """Follow a quantile of each measure by stochastic approximation (Robbins and Monro, 1951)."""
        if self._frames == 0:
            self._neutral = (measures + _AVERAGE) / 2
        self._frames = min(self._frames + frontal, _MEMORY)
        # Steps shrink near the quantile, so that it does not tremble.
        push = np.tanh(4 * (measures - self._neutral) / _REACH) + 2 * _USUAL - 1
        moved = self._neutral + _REACH * push * frontal / (self._frames + _SETTLE)
        self._neutral = np.clip(moved, _AVERAGE - _ROOM, _AVERAGE + _ROOM)


def _measure(shape: Floats) -> Floats:
    """All measures of a shape (478, 3), centimetres in canonical pose."""
    found: dict[str, float] = {}
    gap = float(np.linalg.norm(shape[13] - shape[14]))
    for side, eye, iris, sign, at in (
        ("Left", LEFT_EYE, LEFT_IRIS, 1.0, _LEFT),
        ("Right", RIGHT_EYE, RIGHT_IRIS, -1.0, _RIGHT),
    ):
        outer, inner = shape[eye[0]], shape[eye[8]]
        width = float(np.linalg.norm(outer - inner))
        middle, along = (outer + inner) / 2, (outer - inner) / width
        lids = [float(np.linalg.norm(shape[eye[up]] - shape[eye[16 - up]])) for up in (3, 4, 5)]
        look = (shape[iris[0]] - middle) / width
        corner, mouth = shape[at.corner], (shape[13] + shape[14]) / 2
        found[f"lids{side}"] = found[f"open{side}"] = sum(lids) / 3 / width
        found[f"squint{side}"] = _above(shape[eye[12]], middle) / width
        found[f"innerBrow{side}"] = _above(shape[list(at.inner_brow)].mean(0), inner)
        found[f"outerBrow{side}"] = _above(shape[list(at.outer_brow)].mean(0), outer)
        found[f"gazeOut{side}"] = float(look @ along)
        found[f"gazeUp{side}"] = float(look @ _UP)
        found[f"cornerUp{side}"] = _above(corner, shape[2]) + _CORNER_FOLLOWS * gap
        found[f"cornerOut{side}"] = sign * float((corner - shape[2]) @ _OUT)
        found[f"upperLip{side}"] = _above(shape[at.upper_lip], shape[2])
        found[f"lowerLip{side}"] = _above(mouth, shape[at.lower_lip]) - _LIP_FOLLOWS * gap
        found[f"cheek{side}"] = _above(shape[at.cheek], middle)
        found[f"noseWing{side}"] = _above(shape[at.nose_wing], shape[168])
    found["mouthGap"] = gap
    found["mouthWidth"] = float(np.linalg.norm(shape[61] - shape[291]))
    found["lipsForward"] = float((shape[[0, 17]].mean(0) - shape[[2, 152]].mean(0)) @ _FRONT)
    found["lipsLeft"] = float((shape[[0, 17]].mean(0) - shape[2]) @ _OUT)
    found["chinLeft"] = float((shape[152] - shape[2]) @ _OUT)
    return np.array([found[name] for name in _MEASURES])


def _above(one: Floats, other: Floats) -> float:
    return float((one - other) @ _UP)


@dataclass(frozen=True, slots=True)
class _Side:
    inner_brow: tuple[int, ...]
    outer_brow: tuple[int, ...]
    corner: int
    upper_lip: int
    lower_lip: int
    cheek: int
    nose_wing: int


_RIGHT = _Side((55, 107, 65, 66), (46, 70, 53, 63), 61, 40, 91, 50, 64)
_LEFT = _Side((285, 336, 295, 296), (276, 300, 283, 293), 291, 270, 321, 280, 294)


def _shapes(offset: Floats) -> dict[str, float]:
    """Blendshapes from what each measure differs from the neutral by."""
    beyond = np.sign(offset) * np.maximum(np.abs(offset) - _DEAD, 0)
    rises, falls = np.clip((beyond, -beyond) / _FULL.T, 0, 1) + 0.0  # + 0.0: no negative zeros
    values: dict[str, float] = {}
    for place, one in enumerate(_MEASURES.values()):
        if one.rise:
            values[one.rise] = float(rises[place])
        if one.fall:
            values[one.fall] = float(falls[place])
    return _combine(values)


def _combine(values: dict[str, float]) -> dict[str, float]:
    """The blendshapes that several measures tell together."""
    narrow, forward, jaw = values.pop("narrow"), values.pop("forward"), values["jawOpen"]
    values["browInnerUp"] = (values.pop("innerUpLeft") + values.pop("innerUpRight")) / 2
    rounded = min(1.0, narrow * (0.7 + 0.6 * forward))
    values["mouthPucker"] = rounded * max(0.0, 1 - 2.5 * jaw)
    values["mouthFunnel"] = rounded * min(1.0, 2.5 * jaw)
    for side in ("Left", "Right"):
        up, out = values.pop(f"cornerUp{side}"), values.pop(f"cornerOut{side}")
        smile = min(1.0, 0.8 * up + 0.5 * min(out, 2 * up))
        values[f"mouthSmile{side}"] = smile
        values[f"mouthStretch{side}"] = max(0.0, out - smile)
        values[f"mouthDimple{side}"] = min(up, out) * 0.5
        # A closed eye is no squint, and a squint no blink's half.
        values[f"eyeSquint{side}"] *= 1 - values[f"eyeBlink{side}"]
    return values


def _average() -> Floats:
    """The measures of the canonical face, whose eyes look straight ahead, with its mouth closed."""
    irises = [CANONICAL[[eye[0], eye[8]]].mean(0) for eye in (RIGHT_EYE, LEFT_EYE)]
    average = _measure(np.concatenate([CANONICAL, *(np.repeat(iris[None], 5, 0) for iris in irises)]))
    average[list(_MEASURES).index("mouthGap")] = 0.1
    return average


_AVERAGE = _average()
