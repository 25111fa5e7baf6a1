"""`kawari consent`: who allowed which face to be used, and taking it back."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from app.commands.arguments import count, positive
from app.commands.consent_flags import add_consent_flags, record
from app.console import note, print_json, print_table, say
from engine.errors import InputError, UsageError

if TYPE_CHECKING:
    from engine.identity.consent import Consent, ConsentStore

_SHORT = 12
_LEAST = 8
_MOST_FACES = 64
"""Faces of one photo that are looked for in the records."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its actions."""
    text = "show, give, prove, export or revoke consents to use a face"
    parser = subparsers.add_parser("consent", help=text, description=text)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="the records")
    give = actions.add_parser("give", help="put a consent on record")
    prove = actions.add_parser(
        "prove",
        help="show by a short match before the camera that the face is yours",
        description="Compares you before the camera with the photos while you turn your head to both sides. "
        "Needs a recognition model of the catalogue. Nothing of it is kept but the date and the figure.",
    )
    export = actions.add_parser("export", help="write all records as a page to read, print and keep")
    revoke = actions.add_parser("revoke", help="take consents back; all that was made of the photos goes")
    for action in (give, prove, revoke):
        action.add_argument("photo", nargs="+", help="a photo" + ", or its digest" * (action is revoke))
    for action in (give, prove):
        action.add_argument(
            "--face", type=count, metavar="N", help="which face of the photo (default 1, the largest)"
        )
    prove.add_argument("--camera", default="", help="by name or number; the first one if left out")
    prove.add_argument("--seconds", type=positive, default=60.0, help="how long to wait (default 60)")
    add_consent_flags(give, required=True)
    export.add_argument("file", type=Path, help="where to write it, an HTML page")
    for action, execute in (
        (listing, _list), (give, _give), (prove, _prove), (export, _export), (revoke, _revoke),
    ):  # fmt: skip
        action.set_defaults(execute=execute)
    listing.add_argument("--json", action="store_true", help="print JSON")


def _consents() -> ConsentStore:
    from engine.identity.library import IdentityLibrary

    return IdentityLibrary().consents


def _list(args: argparse.Namespace) -> int:
    records = list(_consents().records())
    if args.json:
        print_json([{"photo": digest, **consent.to_json()} for digest, consent in records])
        return 0
    heads = ("PHOTO", "GROUND", "GIVEN", "LAST DAY", "PROVEN", "FORM", "BY", "PURPOSE")
    print_table([heads, *(_row(digest, consent) for digest, consent in records)])
    return 0


def _row(digest: str, consent: Consent) -> tuple[str, ...]:
    return (
        digest[:_SHORT],
        consent.basis.value,
        _date(consent.given),
        _date(consent.last_moment),
        _date(consent.proof.when if consent.proof else None),
        "yes" if consent.document else "-",
        consent.who or "-",
        consent.purpose or "-",
    )


def _date(moment: datetime | None) -> str:
    return "-" if moment is None else moment.date().isoformat()


def _give(args: argparse.Namespace) -> int:
    from app.build import photo_gate
    from engine.identity.import_photo import PhotoReader

    consents = _consents()
    photos = PhotoReader(screen=photo_gate(consents)).read_all(args.photo, face=args.face)
    for photo in photos:
        record(args, consents, photo.digest)
    say(f"{len(photos)} recorded")
    return 0


def _prove(args: argparse.Namespace) -> int:
    from app.build import photo_gate
    from engine.build import make_tracker
    from engine.folders import home
    from engine.identity.import_photo import PhotoReader
    from engine.identity.live_match import match_live
    from engine.identity.recognition import open_recognition
    from engine.sources.camera import CameraSource

    consents = _consents()
    model, embedder = open_recognition(home())
    photos = PhotoReader(screen=photo_gate(consents)).read_all(args.photo, face=args.face)
    for photo in photos:
        consents.require_own(photo.digest)
    # never a clip: only a camera says anything about who is here
    similarities = match_live(
        CameraSource(args.camera or None), make_tracker(), photos, embedder,
        ask=lambda pose: note(f"kawari: {pose.value}."), seconds=args.seconds,
    )  # fmt: skip
    for photo, similarity in zip(photos, similarities, strict=True):
        consents.prove(photo.digest, model, similarity)
    say(f"It is you: similarity {min(similarities):.2f}; noted in {len(photos)} consent records")
    return 0


def _export(args: argparse.Namespace) -> int:
    from engine.identity.consent_page import write_consent_page

    write_consent_page(args.file, _consents())
    say(f"{args.file} was written; it holds names, so keep it to yourself")
    return 0


def _revoke(args: argparse.Namespace) -> int:
    from engine.identity.library import IdentityLibrary

    library = IdentityLibrary()
    known = [digest for digest, _ in library.consents.records()]
    wanted = [digest for name in args.photo for digest in _matching(name, known)]
    for digest in wanted:
        library.revoke(digest)
    say(f"{len(set(wanted))} revoked; all that was made of the photos is gone")
    return 0


def _matching(name: str, known: list[str]) -> list[str]:
    """Digests on record of any face in a photo, or those that begin with `name`.

    Raises:
        InputError: there is neither.
        UsageError: it fits several records.
    """
    import hashlib

    from engine.identity.photo import photo_digest

    path = Path(name)
    if path.is_file():
        with path.open("rb") as stream:
            file = hashlib.file_digest(stream, "sha256").hexdigest()
        faces = {photo_digest(file, number) for number in range(1, _MOST_FACES + 1)}
        found = [digest for digest in known if digest in faces]
    else:
        found = [digest for digest in known if len(name) >= _LEAST and digest.startswith(name.lower())]
        if len(found) > 1:
            raise UsageError(f"{name} fits {len(found)} records", "Give more of the digest")
    if not found:
        raise InputError(
            f"There is no consent on record for {path.name}", "See them with: kawari consent list"
        )
    return found
