"""`kawari verify`: was this made by Kawari?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from app.console import print_json, say

if TYPE_CHECKING:
    from engine.mark.verify import Report


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    text = "say whether a clip or picture was made by Kawari: its watermark and its C2PA manifest"
    parser = subparsers.add_parser("verify", help=text, description=text)
    parser.add_argument("file", type=Path, help="a clip or picture")
    parser.add_argument("--key", help="a private watermark key, tried besides the public one")
    parser.add_argument(
        "--root", type=Path, help="root certificate (PEM) to trust instead of this computer's"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Examine and report."""
    from engine.errors import InputError
    from engine.folders import home
    from engine.mark.signer import local_signing_key
    from engine.mark.verify import verify_file
    from engine.sources.file import FileSource
    from engine.sources.still import StillSource

    if args.root is not None:
        try:
            root = args.root.read_bytes()
        except OSError as error:
            raise InputError(f"{args.root} can't be read: {error.strerror}", "Check the path") from None
    else:
        root = local_signing_key(home()).root
    try:
        report = verify_file(args.file, FileSource(args.file), root, args.key and args.key.encode())
    except InputError:
        report = verify_file(args.file, StillSource(args.file), root, args.key and args.key.encode())
    if args.json:
        print_json(_plain(report))
    else:
        _tell(report)
    return 0


def _plain(report: Report) -> dict[str, object]:
    payload = report.watermark.payload
    return {
        "watermark": {
            "verdict": report.watermark.verdict,
            "z": round(report.watermark.z, 2),
            "frames": report.watermark.frames,
            "payload": payload
            and {
                "install": f"{payload.install:06x}",
                "model": payload.model,
                "version": "{}.{}".format(*payload.version),
                "day": payload.day.isoformat(),
            },
        },
        "manifest": report.manifest,
        "agree": report.agree,
    }


def _tell(report: Report) -> None:
    mark, manifest = report.watermark, report.manifest
    line = f"watermark  {mark.verdict.value} (z {mark.z:.1f} over {mark.frames} frames)"
    if mark.payload is not None:
        version = "{}.{}".format(*mark.payload.version)
        line += f": Kawari {version}, {mark.payload.day.isoformat()}, installation {mark.payload.install:06x}"
    say(line)
    if manifest is None:
        return
    line = f"manifest   {manifest.trust.value}"
    if manifest.generator:
        line += f": {manifest.generator}, signed by {manifest.signer or 'nobody'}"
        line += ", says the file is synthetic" if manifest.synthetic else ""
    if report.agree is False:
        line += "; it names another watermark than the one found"
    say(line)
