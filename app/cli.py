"""The command line: one parser, one place where errors become sentences and exit codes.

Exit codes: 0 done, 2 usage, 3 bad input, 4 device unavailable, 5 model problem, 6 refused,
130 interrupted, 141 the reader of our output went away, 143 terminated.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from types import FrameType

from app.bench import cli as bench
from app.commands import consent, demo, devices, doctor, forget, key, live, models, verify, window
from app.commands import run as run_command
from app.console import note
from engine.errors import DeviceError, KawariError
from engine.version import __version__

COMMANDS = (demo, run_command, live, devices, doctor, models, consent, verify, key, forget, bench)
INTERRUPTED, BROKEN_PIPE, TERMINATED = 128 + 2, 128 + 13, 128 + 15


def build_parser() -> argparse.ArgumentParser:
    """The parser of `kawari` and all its commands."""
    parser = argparse.ArgumentParser(
        prog="kawari",
        description="Real-time face swap. Without a command, the window opens.",
        epilog="exit codes: 0 done, 2 usage, 3 bad input, 4 device unavailable, 5 model problem, 6 refused",
    )
    parser.add_argument("--version", action="version", version=f"kawari {__version__}")
    parser.set_defaults(execute=window.execute)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(subparsers)
    return parser


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that can't show a character gets a substitute
            stream.reconfigure(errors="backslashreplace")
    args = build_parser().parse_args(arguments)
    try:
        with _terminate_cleanly():
            code = int(args.execute(args))
            sys.stdout.flush()
        return code
    except KawariError as error:
        return _fail(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return BROKEN_PIPE
    except OSError as error:
        if error.errno not in _DISK_ERRORS:
            raise
        _silence_stdout()
        return _fail(DeviceError(*_DISK_ERRORS[error.errno]))


_DISK_ERRORS = {
    errno.ENOSPC: ("The disk is full", "Free some space, or write to another disk"),
    errno.EDQUOT: ("Your disk quota is used up", "Free some space, or write to another disk"),
    errno.EROFS: ("The disk can't be written to", "Write to another folder"),
}


def _fail(error: KawariError) -> int:
    sentence = " ".join(str(error).split())  # one line, whatever a library put into its message
    note(f"kawari: {sentence}")
    return error.exit_code


def _silence_stdout() -> None:
    # The interpreter flushes stdout once more on its way out and would complain there.
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


@contextmanager
def _terminate_cleanly() -> Iterator[None]:
    """Let SIGTERM unwind the stack, so that devices are released and half-made files removed."""

    def unwind(_signal: int, _frame: FrameType | None) -> None:
        raise SystemExit(TERMINATED)

    try:
        before = signal.signal(signal.SIGTERM, unwind)
    except ValueError:  # not the main thread: whoever called us handles its own signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
