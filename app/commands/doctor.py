"""`kawari doctor`: what works on this machine, what does not, why, and what would help."""

from __future__ import annotations

import argparse

from app.console import print_json, print_table, say
from engine.errors import DeviceError
from engine.version import __version__


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    text = "say what works on this machine, what does not, why, and what would help"
    parser = subparsers.add_parser("doctor", help=text, description=text)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Examine everything; 0 if all that Kawari can't do without is there."""
    from engine.capabilities import State, examine

    findings = examine()
    lacking = [one for one in findings if one.state is State.MISSING and not one.optional]
    if args.json:
        print_json({"version": __version__, "ok": not lacking, "findings": findings})
    else:
        say(f"Kawari {__version__}")
        marks = {State.OK: "✓", State.WARNING: "!", State.MISSING: "–"}
        print_table(((marks[one.state], one.name, one.detail) for one in findings), "  ")
        advice = [(one.name, one.remedy) for one in findings if one.remedy and one.state is not State.OK]
        if advice:
            say("What would help")
            print_table(advice, "  ")
    return DeviceError.exit_code if lacking else 0
