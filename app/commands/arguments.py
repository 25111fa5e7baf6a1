"""Flags that several commands share, and what they mean."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from app.commands.consent_flags import add_consent_flags, record
from app.options import add_flags, from_flags
from engine.config import BadgeConfig, GuardConfig, GuardPolicy, NeuralConfig, SwapConfig, Who
from engine.errors import UsageError

if TYPE_CHECKING:
    from engine.identity.library import IdentityLibrary
    from engine.identity.photo import SourcePhoto
    from engine.swap.base import Swapper

_NEURAL = {
    "boost": "--boost",
    "enhancer": "--enhancer",
    "enhance_every": "--enhance-every",
    "occluder": "--occluder",
    "parser": "--parser",
    "outline": "--outline",
    "match_colour": "--match-colour",
    "keep_mouth": "--keep-mouth",
    "keep_eyes": "--keep-eyes",
}


def add_swap_flags(
    parser: argparse.ArgumentParser,
    *,
    source_required: bool,
    guard: GuardPolicy = GuardConfig.policy,
    live: bool = True,
) -> None:
    """Declare which face is swapped in, and how; `guard` is the leak guard's policy if none is given."""
    group = parser.add_argument_group("the face")
    group.add_argument(
        "--source", nargs="+", metavar="PHOTO", required=source_required,
        help="one to five photos of the person whose face is swapped in",
    )  # fmt: skip
    group.add_argument(
        "--face", type=count, metavar="N", help="which face of the photo (default 1, the largest)"
    )
    add_consent_flags(group)
    add_flags(
        group,
        SwapConfig,
        {"swapper": "--swapper", "strength": "--strength", "who": "--who", "blend": "--blend"},
    )
    neural = parser.add_argument_group("models of the catalogue", "see them with: kawari models list")
    add_flags(neural, SwapConfig, {"detector": "--detector"})
    add_flags(neural, NeuralConfig, _NEURAL, {} if live else {"enhance_every": 1})
    add_flags(group, GuardConfig, {"policy": "--guard", "picture": "--guard-picture"}, {"policy": guard})
    add_flags(group, BadgeConfig, {"shown": "--badge", "place": "--badge-place", "style": "--badge-style"})


def swap_config(args: argparse.Namespace) -> SwapConfig:
    """What the flags say about the swap.

    Raises:
        UsageError: they ask for a chosen face; there is nothing here to choose it with.
    """
    swap = from_flags(SwapConfig, args)
    if swap.who is Who.CHOSEN:
        raise UsageError("A single person can't be chosen on the command line", "Give --who largest or all")
    return swap


def read_photos(args: argparse.Namespace, library: IdentityLibrary) -> Sequence[SourcePhoto]:
    """The source photos, or the built-in one; the consent given with them is recorded.

    Raises:
        InputError: a photo can't be used.
        RefusedError: a photo shows what Kawari does not use.
    """
    from app.build import photo_gate
    from engine.identity.demo import demo_photo
    from engine.identity.import_photo import PhotoReader

    if not args.source:
        return (demo_photo(),)
    photos = PhotoReader(screen=photo_gate(library.consents)).read_all(args.source, face=args.face)
    for photo in photos:
        record(args, library.consents, photo.digest)
    return photos


def prepare(args: argparse.Namespace, swapper: str) -> tuple[Swapper[Any], Any]:
    """The swapper, and the source photos prepared for it.

    Raises:
        InputError: a photo can't be used.
        ModelError: there is no such swapper.
        UsageError: flags that only networks heed are given with the mesh.
        RefusedError: nobody has said that the face may be used.
    """
    from engine.identity.library import IdentityLibrary
    from engine.swap import make_swapper

    config = from_flags(NeuralConfig, args)
    if config.asked and swapper == SwapConfig.swapper:
        raise UsageError(
            "The mesh swapper has no use for the flags around a network",
            "Name a swapper of the catalogue with --swapper, or leave them out",
        )
    made = make_swapper(swapper, config=config)
    library = IdentityLibrary()
    return made, library.prepare(made, read_photos(args, library))


def positive(text: str) -> float:
    """A number of seconds greater than zero, for argparse."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a time; give seconds greater than 0")
    return value


def count(text: str) -> int:
    """A number from 1, for argparse."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"faces are numbered from 1, not {text}")
    return value
