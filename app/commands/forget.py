"""`kawari forget`: remove everything that Kawari keeps."""

from __future__ import annotations

import argparse

from app.console import say


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    text = "remove everything that Kawari keeps: consents, identities, settings, logs, keys, models"
    parser = subparsers.add_parser("forget", help=text, description=text)
    parser.add_argument("--everything", action="store_true", help="yes, really")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Remove it."""
    from engine.errors import UsageError
    from engine.folders import home
    from engine.forget import forget_everything

    folder = home()
    if not args.everything:
        raise UsageError(f"This would remove what Kawari keeps in {folder}", "Add --everything to do it")
    left = forget_everything(folder)
    if left:
        say(f"Everything of Kawari's was removed; {folder} still holds {', '.join(left)}")
    else:
        say(f"Everything was removed, {folder} is gone")
    return 0
