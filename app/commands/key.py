"""`kawari key`: a private watermark key."""

from __future__ import annotations

import argparse

from app.console import say


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    text = "a watermark key of your own, beside the public one: proves that a picture is yours"
    parser = subparsers.add_parser("key", help=text, description=text)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("new", help="draw a key; streams that begin from now on carry its mark, too")
    actions.add_parser("show", help="print the key, for those who shall be able to verify your pictures")
    actions.add_parser("remove", help="forget the key")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Do it."""
    from engine.errors import UsageError
    from engine.folders import home
    from engine.mark.private_key import new_private_key, private_key, remove_private_key, to_text

    if args.action == "new":
        system = new_private_key(home())
        say("Kept in the system's key store" if system else f"Kept in a file of yours, in {home() / 'keys'}")
    elif args.action == "show":
        key = private_key(home())
        if key is None:
            raise UsageError("There is no watermark key", "Make one with `kawari key new`")
        say(to_text(key))
    else:
        remove_private_key(home())
        say("Removed")
    return 0
