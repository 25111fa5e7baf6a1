"""Every setting of a session, declared once.

Command-line flags, stored settings, validation and panels are all generated from these frozen
dataclasses: `settings_of(SwapConfig)` lists name, type, default, help, limits. A value outside its
limits is a `UsageError` at construction, wherever it came from.
"""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from engine.errors import UsageError

_KEY = "kawari"
_WORDS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


@dataclass(frozen=True, slots=True)
class Setting:
    """What is known about one setting.

    Attributes:
        name: the field's name.
        type: bool, int, float, str or an `enum.Enum` class (then `choices` lists its values).
        default: its value if nothing is said.
        help: one sentence for people, without a final period.
        low, high: inclusive limits of numbers, None if there is none.
        unit: "s", "ms", "frames" … or "".
        live: it may change while a session runs.
    """

    name: str
    type: type
    default: Any
    help: str
    low: float | None
    high: float | None
    unit: str
    live: bool

    @property
    def allowed(self) -> str:
        """What may be given, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.low is not None and self.high is not None:
            return f"a number from {self.low:g} to {self.high:g}"
        return {bool: "yes or no", str: "a text"}.get(self.type, "a number")

    def accepts(self, value: object) -> bool:
        """True if `value` has the right type and lies within the limits."""
        if self.type in (int, float):
            kinds = (int, float) if self.type is float else int
            if not isinstance(value, kinds) or isinstance(value, bool) or value != value:
                return False
            return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
        return isinstance(value, self.type)

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed words, empty if the setting is no choice."""
        if issubclass(self.type, enum.Enum):
            return tuple(member.value for member in self.type)
        return ()

    def parse(self, text: str) -> Any:
        """The value that a word from a command line or a stored file means.

        Raises:
            UsageError: it means none.
        """
        try:
            if self.type is bool:
                return _WORDS[text.lower()]
            return self.type(text)
        except (ValueError, KeyError):
            raise UsageError(f"{self.name} can't be {text!r}", f"Give {self.allowed}") from None


def setting(
    default: Any,
    help: str,  # noqa: A002 - the word argparse and every reader uses
    *,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    live: bool = False,
) -> Any:
    """A dataclass field with everything a flag, a stored value and a panel need."""
    meta = {_KEY: {"help": help, "low": low, "high": high, "unit": unit, "live": live}}
    return field(default=default, metadata=meta)


def settings_of(kind: type) -> Iterator[Setting]:
    """The settings that a configuration class declares, in order."""
    hints = typing.get_type_hints(kind)
    for one in dataclasses.fields(kind):
        if _KEY in one.metadata:
            yield Setting(one.name, hints[one.name], one.default, **one.metadata[_KEY])


class Checked:
    """Checks the limits of every setting when a configuration is made."""

    def __post_init__(self) -> None:
        for one in settings_of(type(self)):
            value = getattr(self, one.name)
            if not one.accepts(value):
                raise UsageError(f"{one.name} can't be {value!r}", f"Give {one.allowed}")


class Who(enum.Enum):
    """Which faces are swapped."""

    LARGEST = "largest"
    ALL = "all"
    CHOSEN = "chosen"


class Blend(enum.Enum):
    """How a swapped face is joined to the frame."""

    FEATHER = "feather"
    """A soft edge; the quickest."""
    MULTIBAND = "multiband"
    """Low frequencies over a wide seam, high ones over a narrow one; for stills and files."""
    POISSON = "poisson"
    """The frame's own colours at the seam; for stills, since it may flicker."""


class GuardPolicy(enum.Enum):
    """What leaves when a face that should be swapped could not be."""

    HOLD = "hold"
    """The last safe picture for `hold_s`, then the card."""
    BLUR = "blur"
    """The face's region blurred beyond recognition, or the whole picture if the face is not found."""
    PIXELATE = "pixelate"
    """As BLUR, in coarse blocks."""
    PICTURE = "picture"
    """A still picture of the user's choice; the card if there is none."""
    CARD = "card"
    """A neutral card."""
    PASS = "pass"  # noqa: S105 - not a password
    """The input, with the real face. Only ever by explicit choice."""


@dataclass(frozen=True)
class SwapConfig(Checked):
    """What is swapped, and how."""

    swapper: str = setting("mesh", "the swapper's name: mesh, or a neural model of the catalogue")
    strength: float = setting(
        0.8, "how far the face's shape goes to the source's", low=0.0, high=1.0, live=True
    )
    who: Who = setting(Who.LARGEST, "which faces are swapped", live=True)
    blend: Blend = setting(Blend.FEATHER, "how the face is joined to the frame; others than feather are slow")
    detector: str = setting("", "a face detector of the catalogue instead of the built-in one")


@dataclass(frozen=True)
class NeuralConfig(Checked):
    """What is done around a swapper network; models are named as in the catalogue, none by default."""

    boost: int = setting(
        1, "sides of the swapped picture over the network's own: 2 runs it four times, for large faces",
        low=1, high=4,
    )  # fmt: skip
    enhancer: str = setting("", "a model that redraws the swapped face sharply")
    enhance_every: int = setting(4, "the enhancer sees every n-th frame", low=1, high=60, unit="frames")
    occluder: str = setting("", "a model that keeps what hides the face in front of it")
    parser: str = setting("", "a model that limits the swap to the regions of the face")
    outline: bool = setting(False, "limit the swap to the face's outline, without another model")
    match_colour: bool = setting(False, "give the swapped face the mean and spread of the target's colours")
    keep_mouth: bool = setting(False, "show the target's own open mouth")
    keep_eyes: bool = setting(False, "show the target's own eyes")

    @property
    def asked(self) -> bool:
        """Whether anything is asked for; how often an enhancer runs is nothing by itself."""
        return dataclasses.replace(self, enhance_every=NeuralConfig.enhance_every) != NeuralConfig()


@dataclass(frozen=True)
class GuardConfig(Checked):
    """The leak guard: what leaves when a face could not be swapped."""

    policy: GuardPolicy = setting(GuardPolicy.HOLD, "what is shown instead of an unswapped face", live=True)
    hold_s: float = setting(
        0.5, "how long the last safe picture is held before the card", low=0.0, high=5.0, unit="s", live=True
    )
    empty_after_s: float = setting(
        1.5,
        "how long the detector must find nobody before an empty room is shown",
        low=0.2,
        high=10.0,
        unit="s",
    )
    look_age_s: float = setting(
        0.7,
        "how old the detector's last look at the whole picture may be while all faces are swapped",
        low=0.0,
        high=2.0,
        unit="s",
    )
    picture: str = setting("", "the still picture that the policy `picture` shows, a file")


class Corner(enum.Enum):
    """Where the badge sits."""

    TOP_LEFT = "top-left"
    TOP_RIGHT = "top-right"
    BOTTOM_LEFT = "bottom-left"
    BOTTOM_RIGHT = "bottom-right"


class BadgeStyle(enum.Enum):
    """How the badge looks; all can be read on any picture."""

    DARK = "dark"
    """"AI", white on dark."""
    LIGHT = "light"
    """"AI", dark on white."""
    WORDS = "words"
    """"AI-generated", white on dark."""


@dataclass(frozen=True)
class BadgeConfig(Checked):
    """The visible mark."""

    shown: bool = setting(
        True, 'the visible "AI" mark; viewers have a right to know (EU AI Act, article 50)', live=True
    )
    place: Corner = setting(Corner.TOP_RIGHT, "where the visible mark sits", live=True)
    style: BadgeStyle = setting(
        BadgeStyle.DARK, 'how the visible mark looks: "AI" on dark or light, or "AI-generated"', live=True
    )


@dataclass(frozen=True)
class DelayConfig(Checked):
    """The delay budget that the controller keeps."""

    budget_ms: float = setting(
        100.0, "95 % of frames leave within this time after capture", low=20.0, high=5000.0, unit="ms"
    )
    hard_ms: float = setting(
        200.0, "older frames are dropped; 0 for no limit", low=0.0, high=60000.0, unit="ms"
    )
    adapt: bool = setting(True, "lower the quality step by step when the budget is not kept")


@dataclass(frozen=True)
class HealthConfig(Checked):
    """When parts count as stuck, and how they are restarted."""

    no_frames_s: float = setting(
        2.0, "a source that delivers nothing for this long is opened again", low=0.05, high=60.0, unit="s"
    )
    frozen_s: float = setting(
        5.0, "a live source that repeats one picture for this long is opened again", low=0.1, high=600.0,
        unit="s",
    )  # fmt: skip
    stall_s: float = setting(
        0.5, "sinks get a card when no picture left for this long", low=0.02, high=10.0, unit="s"
    )
    stage_s: float = setting(
        3.0, "a tracker or swapper that runs for this long counts as stuck", low=0.05, high=120.0, unit="s"
    )
    sink_s: float = setting(
        5.0, "a sink whose write takes this long counts as stuck", low=0.05, high=120.0, unit="s"
    )
    backoff_s: float = setting(
        0.1, "first wait before a restart; doubles with each", low=0.0, high=10.0, unit="s"
    )
    backoff_max_s: float = setting(0.5, "longest wait before a restart", low=0.0, high=60.0, unit="s")
    restarts: int = setting(5, "restarts of stuck models or sinks allowed within a minute", low=0, high=100)
    card_fps: float = setting(5.0, "rate of the cards while nothing else leaves", low=0.2, high=60.0)
    stop_s: float = setting(0.8, "how long stop() waits for threads in all", low=0.05, high=10.0, unit="s")


@dataclass(frozen=True)
class SessionConfig:
    """Everything a `Session` is told at its start."""

    swap: SwapConfig = field(default_factory=SwapConfig)
    guard: GuardConfig = field(default_factory=GuardConfig)
    delay: DelayConfig = field(default_factory=DelayConfig)
    health: HealthConfig = field(default_factory=HealthConfig)
    overlap: bool = setting(
        False, "track the next frame while this one is swapped: more frames a second, but longer delay"
    )
    tracking_only: bool = setting(
        False, "swap nothing: faces are only tracked, and every picture is covered as a whole"
    )
