"""The command line."""

from __future__ import annotations

from collections.abc import Sequence


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit code."""
    raise NotImplementedError
