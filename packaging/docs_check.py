#!/usr/bin/env python3
"""Checks what the documentation claims: links, commands, flags, the changelog's form.

`python3 packaging/dev.py python packaging/docs_check.py`; prints each fault as `file:line: what` and
exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = {".git", ".venv", "shared", "node_modules", "out", "dist", "build"}

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$")
SPAN = re.compile(r"`(kawari(?: [^`]*)?)`")
VERSION = re.compile(r"^## \[(Unreleased|\d+\.\d+\.\d+[\w.]*)\]( - \d{4}-\d{2}-\d{2})?$")
SECTIONS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def pages(root: Path) -> list[Path]:
    """All Markdown files of the repository."""
    return [
        path for path in sorted(root.rglob("*.md")) if not SKIPPED & set(path.relative_to(root).parts[:-1])
    ]


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines outside code blocks."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def code(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines inside code blocks for a shell, continued lines joined."""
    language: str | None = None
    held, start = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            language = line.strip("` \t") if language is None else None
        elif language in ("sh", "bash", "shell", "console", ""):
            start = start if held else number
            held += line.rstrip().removesuffix("\\")
            if not line.rstrip().endswith("\\"):
                yield start, held
                held = ""


def anchors(text: str) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    found: set[str] = set()
    for _, line in prose(text):
        if match := HEADING.match(line):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1])
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            found.add(slug)
    return found


def link_faults(page: Path, text: str) -> Iterator[str]:
    """Relative links that lead nowhere."""
    for number, line in prose(text):
        for match in LINK.finditer(re.sub(r"`[^`]*`", "", line)):
            target, _, anchor = match[1].partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            goal = page.parent / unquote(target) if target else page
            if not goal.exists():
                yield f"{number}: the link to {match[1]} leads nowhere"
            elif anchor and goal.suffix == ".md" and anchor not in anchors(goal.read_text(encoding="utf-8")):
                yield f"{number}: {target or 'this page'} has no heading #{anchor}"


def command_faults(text: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """Commands and flags of `kawari` that do not exist."""
    lines = list(code(text))
    lines += [(number, match[1]) for number, line in prose(text) for match in SPAN.finditer(line)]
    for number, line in sorted(lines):
        for part in re.split(r"&&|\|\||[;|]\s", re.sub(r"(^|\s)#.*", "", line)):
            words = part.split()
            if "kawari" in words[:4]:
                yield from (f"{number}: {fault}" for fault in unknown(part, parser))


def unknown(line: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """What one command line names that the parser does not know."""
    # Brackets, bars and dots are the notation of synopses.
    plain = re.sub(r"[\[\]…]|\.\.\.", " ", line)
    try:
        words = shlex.split(plain)
    except ValueError:
        words = plain.split()
    yield from unknown_words(words[words.index("kawari") + 1 :], parser, "kawari")


def unknown_words(words: list[str], parser: argparse.ArgumentParser, name: str) -> Iterator[str]:
    """The same for the words after `name`, the commands that led to `parser`."""
    commands = subcommands(parser)
    if commands and words and not words[0].startswith("-"):
        for one in filter(None, re.split(r"[|/]", words[0])):
            if one in commands:
                yield from unknown_words(words[1:], commands[one], f"{name} {one}")
            elif one.isidentifier() and one.islower():  # anything else is a placeholder, such as COMMAND
                yield f"there is no command `{name} {one}`"
        return
    for word in words:
        flag = word.split("=")[0]
        if re.fullmatch(r"--[a-z][\w-]*", flag) and flag not in parser._option_string_actions:
            yield f"`{name}` has no flag {flag}"


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands a parser knows by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def changelog_faults(text: str) -> Iterator[str]:
    """Departures from Keep a Changelog."""
    lines = text.splitlines()
    if not lines or lines[0] != "# Changelog":
        yield "1: the first line must be `# Changelog`"
    versions = [(n, line) for n, line in enumerate(lines, 1) if line.startswith("## ")]
    for number, line in versions:
        match = VERSION.match(line)
        if match is None or (match[1] != "Unreleased" and match[2] is None):
            yield f"{number}: `{line}` is not `## [Unreleased]` or `## [1.2.3] - 2030-01-31`"
    if not versions:
        yield "1: no version is listed"
    for number, line in enumerate(lines, 1):
        if line.startswith("### ") and line[4:] not in SECTIONS:
            yield f"{number}: `{line[4:]}` is none of {', '.join(sorted(SECTIONS))}"


def main() -> int:
    """Check every page; the exit code."""
    sys.path.insert(0, str(ROOT))
    from app.cli import build_parser

    parser = build_parser()
    faults = []
    for page in pages(ROOT):
        text = page.read_text(encoding="utf-8")
        found = [*link_faults(page, text), *command_faults(text, parser)]
        if page.name == "CHANGELOG.md":
            found += changelog_faults(text)
        faults += [f"{page.relative_to(ROOT)}:{fault}" for fault in found]
    print("\n".join(faults) if faults else "documentation: no faults found")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
