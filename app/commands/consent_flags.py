"""The flags by which a consent is given, and how it gets on record."""

from __future__ import annotations

import argparse
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from engine.identity.consent import Consent, ConsentStore

BASES = ("self", "permission", "fictional", "public-domain")
"""The values of `engine.identity.consent.Basis`, here so that the parser starts fast."""
_DETAILS = ("consent_by", "purpose", "expires", "release")


def add_consent_flags(group: argparse._ActionsContainer, *, required: bool = False) -> None:
    """Declare them."""
    group.add_argument(
        "--consent", choices=BASES, required=required,
        help="on what ground the face may be used; asked for once and kept",
    )  # fmt: skip
    group.add_argument("--consent-by", metavar="NAME", help="who says so, or who agreed")
    group.add_argument("--purpose", metavar="TEXT", help="what the face may be used for")
    group.add_argument("--expires", type=_day, metavar="YYYY-MM-DD", help="last day of the consent, in UTC")
    group.add_argument(
        "--release", type=Path, metavar="FILE", help="a file that proves it, such as a signed form; copied"
    )


def record(args: argparse.Namespace, consents: ConsentStore, digest: str) -> Consent | None:
    """Put on record what the flags say about a photo; None if they say nothing.

    A valid record on the same ground stays as it is, unless more is said about it.

    Raises:
        UsageError: something is said about a consent that is not given, or it has expired already.
        InputError: the release form can't be read.
        DeviceError: the record can't be written.
    """
    from engine.identity.consent import Basis

    details = {name: getattr(args, name) for name in _DETAILS if getattr(args, name) is not None}
    if args.consent is None:
        if details:
            flag = next(iter(details)).replace("_", "-")
            raise UsageError(f"--{flag} says more about a consent", "Give the ground with --consent, too")
        return None
    basis = Basis(args.consent)
    if not details:
        try:
            present = consents.require(digest)
        except RefusedError:
            present = None
        if present is not None and present.basis is basis:
            return present
    return consents.give(
        digest,
        basis,
        who=details.get("consent_by", ""),
        purpose=details.get("purpose", ""),
        expires=details.get("expires"),
        document=consents.releases.keep(details["release"]) if "release" in details else "",
    )


def _day(text: str) -> datetime:
    from engine.identity.consent import end_after

    try:
        return end_after(date.fromisoformat(text))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text} is no date; give YYYY-MM-DD") from None
