"""What is looked for in the pictures of a stream or clip."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.content.age import open_age
from engine.content.nudity import THRESHOLD, NudityCheck
from engine.types import Output


@dataclass(frozen=True, slots=True)
class Judge:
    """Looks for one thing.

    Attributes:
        sees: whether it is in an output.
        message: what is said then, one sentence without a final period.
    """

    sees: Callable[[Output], bool]
    message: str


def standard_judges(home: Path) -> tuple[Judge, ...]:
    """Nudity in what leaves; a child before the camera, where a model that tells age was added.

    Args:
        home: Kawari's folder.

    Raises:
        ModelError: a network is damaged or can't be run.
    """
    nudity = NudityCheck()
    judges = [
        Judge(lambda output: nudity.score(output.image) >= THRESHOLD, "The picture seems to show nudity")
    ]
    age = open_age(home)
    if age is not None:
        judges.append(
            Judge(
                lambda output: any(age.is_child(output.frame.image, face) for face in output.faces),
                "A child seems to be in the picture",
            )
        )
    return tuple(judges)
