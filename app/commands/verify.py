"""`kawari verify`: was this made by Kawari? A file, or what a camera shows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from app.console import note, print_json, say

if TYPE_CHECKING:
    from engine.mark.detector import Finding
    from engine.mark.verify import Report


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    text = "say whether Kawari made a clip, a picture or what a camera shows: watermark and C2PA manifest"
    parser = subparsers.add_parser("verify", help=text, description=text)
    parser.add_argument(
        "subject", metavar="FILE|CAMERA", help="a clip or picture, or a camera by name or number"
    )
    parser.add_argument(
        "--key",
        help="a private watermark key to try, or a file with it; your own (`kawari key`) if not given",
    )
    parser.add_argument(
        "--root", type=Path, help="root certificate (PEM) to trust instead of this computer's"
    )
    parser.add_argument(
        "--seconds", type=_seconds, default=4.0, metavar="N", help="how long a camera is looked at (4)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Examine and report."""
    from app.build import source_giver
    from app.options import CameraConfig
    from engine.mark.verify import verify_camera, verify_file
    from engine.sources.file import FileSource
    from engine.sources.still import StillSource, is_still

    key = _key(args.key)
    path = Path(args.subject)
    if path.is_file():
        source = StillSource(path) if is_still(path) else FileSource(path)
        report = verify_file(path, source, _root(args.root), key)
    else:
        report = verify_camera(source_giver(CameraConfig(camera=args.subject))(), args.seconds, key)
    if args.json:
        print_json(_plain(report))
    else:
        _tell(report)
    return 0


def _key(given: str | None) -> bytes | None:
    """The private key to try: the one given, or the user's own."""
    from engine.errors import DeviceError, InputError
    from engine.folders import home
    from engine.mark.private_key import from_text, private_key

    if given is None:
        try:
            return private_key(home())
        except DeviceError as error:
            note(f"Your own watermark key is not tried: {error.message}")
            return None
    file = Path(given)
    try:
        return from_text(file.read_text(encoding="utf-8") if file.is_file() else given)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("The file with the key can't be read", "Check the path") from error


def _root(path: Path | None) -> bytes:
    """The root certificate to trust."""
    from engine.errors import InputError
    from engine.folders import home
    from engine.mark.signer import local_signing_key

    if path is None:
        return local_signing_key(home()).root
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}", "Check the path") from None


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number <= 3600:
        raise argparse.ArgumentTypeError("must be above 0, and an hour at most")
    return number


def _plain(report: Report) -> dict[str, object]:
    return {
        "watermark": _plain_finding(report.watermark),
        "private": report.private and _plain_finding(report.private),
        "manifest": report.manifest,
        "agree": report.agree,
    }


def _plain_finding(finding: Finding) -> dict[str, object]:
    payload = finding.payload
    return {
        "verdict": finding.verdict,
        "z": round(finding.z, 2),
        "frames": finding.frames,
        "payload": payload
        and {
            "install": f"{payload.install:06x}",
            "model": payload.model,
            "version": "{}.{}".format(*payload.version),
            "day": payload.day.isoformat(),
        },
    }


def _tell(report: Report) -> None:
    say(f"watermark  {_sentence(report.watermark)}")
    if report.private is not None:
        say(f"private    {_sentence(report.private)}")
    manifest = report.manifest
    if manifest is None:
        return
    line = f"manifest   {manifest.trust.value}"
    if manifest.generator:
        line += f": {manifest.generator}, signed by {manifest.signer or 'nobody'}"
        line += ", says the file is synthetic" if manifest.synthetic else ""
    if report.agree is False:
        line += "; it names another watermark than the one found"
    say(line)


def _sentence(finding: Finding) -> str:
    line = f"{finding.verdict.value} (z {finding.z:.1f} over {finding.frames} frames)"
    if finding.payload is None:
        return line
    payload = finding.payload
    version = "{}.{}".format(*payload.version)
    return f"{line}: Kawari {version}, {payload.day.isoformat()}, installation {payload.install:06x}"
