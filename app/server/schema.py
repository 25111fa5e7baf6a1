"""What goes in and out of the server, typed; the OpenAPI document is made from these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.server.desk import Choice, Recording
from engine.config import GuardPolicy
from engine.live.stats import Stats

Strength = Annotated[float, Field(ge=0, le=1, description="How far the face's shape goes to the source's.")]


class Strict(BaseModel):
    """A request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Problem(BaseModel):
    """Something did not work."""

    error: str = Field(description="What is wrong and what would help, for people.")
    remedy: str = Field("", description="What would help, alone; may be empty.")


class State(BaseModel):
    """What Kawari is doing."""

    running: bool = Field(description="A session runs.")
    state: str = Field(description="idle, starting, running, recovering, stopping or finished.")
    panic: bool = Field(description="Everything is covered.")
    strength: float
    guard: GuardPolicy = Field(description="What leaves instead of an unswapped face.")
    swapper: str
    recording: Recording = Field(description="off, on or paused.")
    figures: Stats = Field(description="All figures; times in milliseconds.")


class Choices(BaseModel):
    """Things to choose or to switch."""

    choices: list[Choice]


class Chosen(Strict):
    """Which one."""

    id: str = Field(max_length=500)


class Switch(Strict):
    """On or off."""

    on: bool


class Panic(Strict):
    """Cover or uncover."""

    on: bool | None = Field(None, description="Left out: the other way than now.")


class Pause(Strict):
    """Pause the recording or go on."""

    on: bool | None = Field(None, description="Left out: the other way than now.")


class NewStrength(Strict):
    """Another strength."""

    strength: Strength


class NewGuard(Strict):
    """Another policy. Pass-through is refused here."""

    policy: Annotated[GuardPolicy, Field(strict=False)]


class StartCommand(Strict):
    """As POST /api/start."""

    command: Literal["start"]


class StopCommand(Strict):
    """As POST /api/stop."""

    command: Literal["stop"]


class PanicCommand(Panic):
    """As POST /api/panic."""

    command: Literal["panic"]


class StrengthCommand(NewStrength):
    """As PUT /api/strength."""

    command: Literal["strength"]


class FaceCommand(Chosen):
    """As PUT /api/face."""

    command: Literal["face"]


Command = Annotated[
    StartCommand | StopCommand | PanicCommand | StrengthCommand | FaceCommand, Field(discriminator="command")
]


class News(BaseModel):
    """A message of the WebSocket `/ws`: the state, an event, or what was wrong with a command."""

    state: State | None = None
    event: dict[str, Any] | None = None
    error: str | None = None
