"""Entry point of the `kawari` command."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; returns the exit code."""
    from app.cli import run
    from app.ending import end

    return end(run(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
